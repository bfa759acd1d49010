"""Endpoints that fork jobs and list their forks."""

from fastapi import APIRouter, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, Reader, Writer
from backend.data.database import Session
from backend.http.idempotency import Idempotency, Once, fingerprint
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.lifecycle import fair_queue, fork, transitions
from backend.jobs.submission.start_adapter import stored_start
from backend.jobs.submission.submit import Draft, HttpSubmission, ServicesDep, submit
from backend.jobs.view import job_view
from backend.models import Job
from reinforge.schemas.jobs import JobDetail, JobFamily, JobFork, JobStartList

FROM_BASE = 0

router = APIRouter(route_class=StrictRoute)


@router.post("/jobs/{id}/fork", status_code=201, response_model=JobDetail, operation_id="forkJob")
async def fork_job(
    id: str, body: JobFork, request: Request, services: ServicesDep, who: Writer, once: Once
) -> Response:
    """Create a job that continues from a step of this job. This job is not changed.

    `forked_from.carried` lists what continues unchanged; everything else starts fresh. With `step` 0 the new job
    starts where this one started, and carries nothing over.
    """
    return await submit(services, ForkedJob(who, once, fingerprint(await request.body()), id, body))


class ForkedJob(HttpSubmission):
    def __init__(
        self, who: Principal, once: Idempotency, fingerprint: str, source_id: str, body: JobFork
    ) -> None:
        super().__init__(who, once, fingerprint)
        self._source_id = source_id
        self._body = body
        self._fork: fork.Fork | None = None

    async def draft(self, session: AsyncSession) -> Draft:
        return await self._draft_from(
            session, await repository.find(session, self.project_id, self._source_id)
        )

    async def final_draft(self, session: AsyncSession, draft: Draft) -> Draft:
        source = await transitions.lock_job(session, self._source_id, self.project_id)
        if self._fork is not None:
            self._body = self._body.model_copy(update={"step": self._fork.start.step})
        return await self._draft_from(session, source)

    async def answer(self, session: AsyncSession, job: Job) -> Response:
        if self._fork is not None:
            fork.store(session, job, self._fork)
        await session.flush()
        return await self._once.finish(session, 201, await fair_queue.detail(session, job))

    async def _draft_from(self, session: AsyncSession, source: Job) -> Draft:
        start = await stored_start(session, source)
        if self._body.step == FROM_BASE:
            spec = await fork.spec_from_base(session, source, self._body)
            name = f"{source.name}, from the base"
            return Draft(spec, spec.model_dump(mode="json"), start=start, default_name=name)
        self._fork = await fork.plan(session, source, self._body)
        spec = self._fork.spec
        return Draft(spec, spec.model_dump(mode="json"), start=start, default_name=self._fork.default_name)


@router.get("/jobs/{id}/starts", operation_id="listJobStarts")
async def list_starts(id: str, session: Session, who: Reader) -> JobStartList:
    """The steps that a fork can continue from, newest first."""
    job = await repository.find(session, who.project_id, id)
    return JobStartList(data=[fork.start_view(start) for start in await fork.starts(session, job.id)])


@router.get("/jobs/{id}/family", operation_id="listJobFamily")
async def list_family(id: str, session: Session, who: Reader) -> JobFamily:
    """The job, its ancestors and all their forks, oldest first; `forked_from` names the parent."""
    job = await repository.find(session, who.project_id, id)
    return JobFamily(data=[job_view(member) for member in await fork.family(session, job)])
