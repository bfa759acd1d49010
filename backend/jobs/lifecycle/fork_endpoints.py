"""POST /jobs/{id}/fork · GET /jobs/{id}/starts, /family."""

from fastapi import APIRouter, Request, Response

from backend.access.auth import Reader, SettingsDep, Writer
from backend.data.database import DatabaseDep, Session
from backend.data.objects import ObjectsDep
from backend.http.idempotency import Once, fingerprint
from backend.http.strict_json import StrictRoute
from backend.jobs import repository, service
from backend.jobs.lifecycle import fair_queue, fork, transitions
from backend.jobs.submission import validate_references
from backend.jobs.submission.validate_golden import ask_golden_cases
from backend.jobs.submission.validate_on_worker import ask_workers
from backend.jobs.view import job_view
from backend.rpc.client import CallsDep
from reinforge.schemas.jobs import JobDetail, JobFamily, JobFork, JobStartList

router = APIRouter(route_class=StrictRoute)


@router.post("/jobs/{id}/fork", status_code=201, response_model=JobDetail, operation_id="forkJob")
async def fork_job(
    id: str,
    body: JobFork,
    request: Request,
    database: DatabaseDep,
    calls: CallsDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Writer,
    once: Once,
) -> Response:
    """Create a job that continues from a step of this one, validated like any other. This job is not changed.

    `forked_from.carried` lists what continues unchanged; everything else starts fresh.
    """
    request_hash = fingerprint(await request.body())
    async with database.transaction() as session:
        if (stored := await once.peek(session, request_hash)) is not None:
            return stored
        planned = await fork.plan(session, await repository.find(session, who.project_id, id), body)
        plan = await validate_references.look_up(session, who.project_id, planned.spec)
    await ask_workers(plan, calls, objects, service.dataset_cache(settings))
    await ask_golden_cases(plan, who.project_id, database, calls)
    async with database.transaction() as session:
        if (stored := await once.begin(session, request_hash)) is not None:
            return stored
        # Under its lock: what it starts from may have been replaced by a newer state meanwhile.
        source = await transitions.lock_job(session, id, who.project_id)
        planned = await fork.plan(session, source, body.model_copy(update={"step": planned.start.step}))
        await validate_references.look_up(session, who.project_id, planned.spec)
        raw_spec = planned.spec.model_dump(mode="json")
        job = await service.create(
            session, who.project_id, plan, raw_spec, who.name, request.app.state.wake_ups
        )
        fork.store(session, job, planned)
        await session.flush()
        return await once.finish(session, 201, await fair_queue.detail(session, job))


@router.get("/jobs/{id}/starts", operation_id="listJobStarts")
async def list_starts(id: str, session: Session, who: Reader) -> JobStartList:
    """The steps that a fork can continue from, newest first."""
    job = await repository.find(session, who.project_id, id)
    return JobStartList(data=[fork.start_view(start) for start in await fork.starts(session, job.id)])


@router.get("/jobs/{id}/family", operation_id="listJobFamily")
async def list_family(id: str, session: Session, who: Reader) -> JobFamily:
    """The job, its ancestors and all their forks, oldest first; `forked_from` gives the tree."""
    job = await repository.find(session, who.project_id, id)
    return JobFamily(data=[job_view(member) for member in await fork.family(session, job)])
