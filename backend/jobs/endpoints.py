"""Endpoints of jobs, with the routers of the subpackages."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, Reader, Writer
from backend.data.database import ReadSession, Session
from backend.http.conditional import IfMatch, tagged
from backend.http.idempotency import Idempotency, Once, OnceWhole, fingerprint
from backend.http.strict_json import StrictRoute
from backend.jobs import labels, listing, repository, service
from backend.jobs.bundle.endpoints import router as bundle
from backend.jobs.card.endpoints import router as card
from backend.jobs.comparison.endpoints import router as comparison
from backend.jobs.lifecycle import deletion, fair_queue
from backend.jobs.lifecycle.change_endpoints import router as changes
from backend.jobs.lifecycle.checkpoint_endpoints import router as checkpoints
from backend.jobs.lifecycle.fork_endpoints import router as forks
from backend.jobs.monitoring.endpoints import router as monitoring
from backend.jobs.monitoring.group_endpoints import router as groups
from backend.jobs.prompts.endpoints import router as prompts
from backend.jobs.report.endpoints import router as report
from backend.jobs.shares.endpoints import router as shares
from backend.jobs.submission.endpoints import router as submission
from backend.jobs.submission.submit import Draft, ServicesDep, SpecSubmission, submit
from backend.jobs.traces.endpoints import router as traces
from backend.models import Job as JobRow
from backend.rpc.broker import BrokerDep
from reinforge.net.broker import BrokerState
from reinforge.schemas.common import Page
from reinforge.schemas.job_labels import JobFacets, JobUpdate
from reinforge.schemas.jobs import Job, JobDetail
from reinforge.spec import JobSpec

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
    """Validate a job on a worker, and queue it. An invalid job is not stored.

    422 names the invalid field as `param`; 503 `no_worker`: no worker can check the job.
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
    session: ReadSession,
    who: Reader,
    broker: BrokerDep,
    filters: Annotated[listing.JobFilters, Depends(listing.job_filters)],
    limit: Limit = 20,
    after: str | None = None,
    sort: Annotated[str, Query(max_length=250)] = "-created",
    setting: Annotated[list[str] | None, Query(max_length=listing.MOST_SETTINGS)] = None,
) -> Page[Job]:
    """Jobs, newest first, or by `sort`: created, name, status, held_out_reward_before, held_out_reward_best,
    held_out_reward, step, steps, duration, or a setting such as `spec.optimizer.learning_rate`; a leading minus
    reverses it. Jobs without the value are last.

    Filters combine with AND; repeat `status` to match any of several, `tag` to match all.
    `dataset`: training or held-out dataset. `reward`: id of a stored reward. `owner`: name in `created_by`.
    `q`: part of the name or id. `setting`: dotted path of a setting to return in each job's `settings`.
    """
    page = await listing.page(
        session, who.project_id, filters, limit=limit, after=after, sort=sort, settings=setting or []
    )
    best = await listing.best_rewards(session, page.jobs)
    views = await fair_queue.job_views(session, page.jobs, broker)
    data = [
        view.model_copy(update={"settings": values, "held_out_reward_best": best.get(view.id)})
        for view, values in zip(views, page.settings, strict=True)
    ]
    return Page(data=data, has_more=page.next_cursor is not None, next_cursor=page.next_cursor)


@router.get("/job-facets", operation_id="listJobFacets")
async def list_job_facets(session: Session, who: Reader) -> JobFacets:
    """Tags, base models, presets and owners of the project's jobs, for filters."""
    return await labels.facets(session, who.project_id)


@router.get("/jobs/{id}", operation_id="getJob")
async def get_job(id: str, session: ReadSession, who: Reader, broker: BrokerDep) -> JobDetail:
    return await fair_queue.detail(session, await repository.find(session, who.project_id, id), broker)


@router.patch("/jobs/{id}", operation_id="updateJob")
async def update_job(
    id: str,
    body: JobUpdate,
    response: Response,
    session: Session,
    match: IfMatch,
    who: Writer,
    broker: BrokerDep,
) -> JobDetail:
    """Rename a job, change its notes or tags, or archive it. Its specification stays as it is.

    409 `job_not_ended`: only a job that has ended can be archived.
    """
    job = await labels.update(session, who.project_id, id, body, match)
    return tagged(await fair_queue.detail(session, job, broker), response)


@router.post("/jobs/{id}/cancel", dependencies=[OnceWhole], operation_id="cancelJob")
async def cancel_job(id: str, session: Session, who: Writer) -> JobDetail:
    """Cancel a job: at once if no worker has it, else it is `cancelling` until its worker has stopped."""
    return await fair_queue.detail(session, await service.cancel(session, who.project_id, id))


@router.post("/jobs/{id}/pause", dependencies=[OnceWhole], operation_id="pauseJob")
async def pause_job(id: str, session: Session, who: Writer) -> JobDetail:
    """Pause a job: at once unless it is running. A running job is `pausing` until its worker has finished the
    current step, saved a checkpoint and stopped, or is terminated.
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

    409 `job_has_forks`, `job_deployed` or `job_has_alias` while forks, deployments or aliases need it.
    """
    await deletion.delete_job(session, who, id)


router.include_router(card)
router.include_router(comparison)
router.include_router(changes)
router.include_router(checkpoints)
router.include_router(forks)
router.include_router(groups)
router.include_router(prompts)
router.include_router(report)
router.include_router(bundle)
router.include_router(traces)
router.include_router(shares)
router.include_router(submission)
router.include_router(monitoring)
