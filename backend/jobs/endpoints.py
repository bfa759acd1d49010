"""Job endpoints."""

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, Reader, Writer
from backend.data.database import Session
from backend.http.cursors import cut, encode_cursor
from backend.http.idempotency import Idempotency, Once, OnceWhole, fingerprint
from backend.http.strict_json import StrictRoute
from backend.jobs import repository, service
from backend.jobs.comparison.endpoints import router as comparison
from backend.jobs.lifecycle import deletion, fair_queue
from backend.jobs.lifecycle.change_endpoints import router as changes
from backend.jobs.lifecycle.checkpoint_endpoints import router as checkpoints
from backend.jobs.lifecycle.fork_endpoints import router as forks
from backend.jobs.monitoring.endpoints import router as monitoring
from backend.jobs.monitoring.group_endpoints import router as groups
from backend.jobs.prompts.endpoints import router as prompts
from backend.jobs.submission.endpoints import router as submission
from backend.jobs.submission.submit import Draft, ServicesDep, SpecSubmission, submit
from backend.models import Job as JobRow
from backend.rpc.broker import BrokerDep
from reinforge.net.broker import BrokerState
from reinforge.schemas.common import Page
from reinforge.schemas.jobs import Job, JobDetail
from reinforge.spec import JobSpec
from reinforge.states import JobStatus

router = APIRouter(prefix="/api/v1", tags=["jobs"], route_class=StrictRoute)

Limit = Annotated[int, Query(ge=1, le=100)]


@router.post("/jobs", status_code=201, response_model=JobDetail, operation_id="createJob")
async def create_job(
    spec: Annotated[JobSpec, Body()],
    request: Request,
    services: ServicesDep,
    who: Writer,
    once: Once,
    broker: BrokerDep,
) -> Response:
    """Validate a job, with a worker's help, and queue it. A refused job is not stored.

    422 names the invalid field as `param`; 503 `no_worker` when no worker can check the job.
    """
    draft = Draft(spec, await request.json())
    return await submit(services, NewJob(who, once, fingerprint(await request.body()), draft, broker))


class NewJob(SpecSubmission):
    def __init__(
        self, who: Principal, once: Idempotency, fingerprint: str, draft: Draft, broker: BrokerState | None
    ) -> None:
        super().__init__(who, once, fingerprint, draft)
        self._broker = broker

    async def answer(self, session: AsyncSession, job: JobRow) -> Response:
        return await self._once.finish(session, 201, await fair_queue.detail(session, job, self._broker))


@router.get("/jobs", operation_id="listJobs")
async def list_jobs(
    session: Session,
    who: Reader,
    broker: BrokerDep,
    limit: Limit = 20,
    after: str | None = None,
    status: Annotated[list[JobStatus] | None, Query()] = None,
    dataset: str | None = None,
    reward: str | None = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
) -> Page[Job]:
    """Newest first. Filters combine with AND; repeat `status` to match any of several.

    `dataset`: its training or held-out dataset. `reward`: id of a stored reward. `q`: part of the name or id.
    """
    rows = await repository.page(
        session,
        who.project_id,
        limit=limit,
        after=after,
        statuses=status or [],
        dataset=dataset,
        reward=reward,
        q=q,
    )
    jobs, has_more = cut(rows, limit)
    cursor = encode_cursor(jobs[-1].created_at, jobs[-1].id) if has_more else None
    return Page(data=await fair_queue.job_views(session, jobs, broker), has_more=has_more, next_cursor=cursor)


@router.get("/jobs/{id}", operation_id="getJob")
async def get_job(id: str, session: Session, who: Reader, broker: BrokerDep) -> JobDetail:
    return await fair_queue.detail(session, await repository.find(session, who.project_id, id), broker)


@router.post("/jobs/{id}/cancel", dependencies=[OnceWhole], operation_id="cancelJob")
async def cancel_job(id: str, session: Session, who: Writer) -> JobDetail:
    """Cancel a job: immediate when no worker has it, otherwise `cancelling` until its worker has stopped."""
    return await fair_queue.detail(session, await service.cancel(session, who.project_id, id))


@router.post("/jobs/{id}/pause", dependencies=[OnceWhole], operation_id="pauseJob")
async def pause_job(id: str, session: Session, who: Writer) -> JobDetail:
    """Pause a job: immediate when no worker has started it; otherwise it is `pausing` until its worker has
    finished the current step, saved a checkpoint and stopped, or is terminated.
    """
    return await fair_queue.detail(session, await service.pause(session, who.project_id, id))


@router.post("/jobs/{id}/resume", dependencies=[OnceWhole], operation_id="resumeJob")
async def resume_job(
    id: str, request: Request, session: Session, who: Writer, broker: BrokerDep
) -> JobDetail:
    """Queue a paused job. Its next attempt continues from the resume state."""
    job = await service.resume(session, who.project_id, id, request.app.state.wake_ups)
    return await fair_queue.detail(session, job, broker)


@router.delete("/jobs/{id}", status_code=204, operation_id="deleteJob")
async def delete_job(id: str, session: Session, who: Writer) -> None:
    """Delete a job that has ended, with its checkpoints, adapter, completions and replays. Owners only.

    409 `job_has_forks` or `job_deployed` while others need its weights.
    """
    await deletion.delete_job(session, who, id)


router.include_router(comparison)
router.include_router(changes)
router.include_router(checkpoints)
router.include_router(forks)
router.include_router(groups)
router.include_router(prompts)
router.include_router(submission)
router.include_router(monitoring)
