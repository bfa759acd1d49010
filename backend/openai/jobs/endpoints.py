"""Endpoints of /v1/fine_tuning/jobs."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, Reader, Writer
from backend.base_models import service as base_models
from backend.data.database import Session
from backend.datasets import service as datasets
from backend.http.idempotency import Idempotency, Once, OnceWhole, fingerprint
from backend.jobs import service
from backend.jobs.submission import start_adapter
from backend.jobs.submission.submit import Draft, HttpSubmission, ServicesDep, submit
from backend.models import BaseModel, Job
from backend.openai import model_names
from backend.openai.conventions import OpenAIRoute, listed, unknown_after
from backend.openai.jobs import events, queries
from backend.openai.jobs.checkpoints import checkpoint_views
from backend.openai.jobs.request import Translated, reinforcement, request_field_errors, translate
from backend.openai.jobs.view import job_view
from backend.openai.retries import RetryDeduplication
from reinforge.errors import InvalidInput, NotFound
from reinforge.schemas.openai_common import WireList
from reinforge.schemas.openai_jobs import (
    CheckpointView,
    FineTuningJob,
    JobCreate,
    JobEventView,
    Reinforcement,
)

router = APIRouter(prefix="/v1/fine_tuning/jobs", tags=["openai"], route_class=OpenAIRoute)

Limit = Annotated[int, Query(ge=1, le=1000)]


@router.post("", response_model=FineTuningJob, operation_id="createFineTuningJob")
async def create(
    body: JobCreate, request: Request, services: ServicesDep, who: Writer, once: Once
) -> Response:
    """Validate a job with a worker's help and queue it. A request and its retries create one job."""
    method = reinforcement(body)
    raw = await request.body()
    retries = RetryDeduplication(request, raw, who)
    return await submit(services, FineTuning(who, once, fingerprint(raw), retries, body, method))


class FineTuning(HttpSubmission):
    """Job submission by OpenAI clients, which retry without an idempotency key."""

    def __init__(
        self,
        who: Principal,
        once: Idempotency,
        fingerprint: str,
        retries: RetryDeduplication,
        body: JobCreate,
        method: Reinforcement,
    ) -> None:
        super().__init__(who, once, fingerprint)
        self._repeats = retries
        self._body = body
        self._method = method

    @property
    def model(self) -> str:
        return self._body.model

    async def earlier_answer(self, session: AsyncSession) -> Response | None:
        return await super().earlier_answer(session) or await self._repeats.find(session)

    async def draft(self, session: AsyncSession) -> Draft:
        job = await _translated(session, self.project_id, self._body, self._method)
        return Draft(job.spec, job.raw_spec, openai=job.openai, warnings=tuple(job.notes))

    async def reserve(self, session: AsyncSession) -> Response | None:
        return await super().reserve(session) or await self._repeats.begin(session)

    async def answer(self, session: AsyncSession, job: Job) -> Response:
        view = await _view(session, job)
        await self._repeats.finish(session, view)
        return await self._once.finish(session, 200, view)

    def error_names(self) -> AbstractContextManager[None]:
        return request_field_errors()


@router.get("", operation_id="listFineTuningJobs")
async def list_jobs(
    request: Request, session: Session, who: Reader, limit: Limit = 20, after: str | None = None
) -> WireList[FineTuningJob]:
    """Jobs, newest first. Filter with `metadata[key]=value`, also for several keys; `metadata=null` selects
    jobs without metadata.
    """
    place = await _place(session, who.project_id, after)
    metadata = _metadata(request)
    jobs, more = await queries.page(session, who.project_id, limit=limit, after=place, metadata=metadata)
    return listed(await _views(session, who.project_id, jobs), has_more=more)


@router.get("/{fine_tuning_job_id}", operation_id="getFineTuningJob")
async def get(fine_tuning_job_id: str, session: Session, who: Reader) -> FineTuningJob:
    return await _view(session, await _find(session, who.project_id, fine_tuning_job_id))


@router.post("/{fine_tuning_job_id}/cancel", dependencies=[OnceWhole], operation_id="cancelFineTuningJob")
async def cancel(fine_tuning_job_id: str, session: Session, who: Writer) -> FineTuningJob:
    """Cancel a job. It is `running` until its worker has stopped."""
    job = await _find(session, who.project_id, fine_tuning_job_id)
    return await _view(session, await service.cancel(session, who.project_id, job.id))


@router.post("/{fine_tuning_job_id}/pause", dependencies=[OnceWhole], operation_id="pauseFineTuningJob")
async def pause(fine_tuning_job_id: str, session: Session, who: Writer) -> FineTuningJob:
    """Pause a job. It is `pausing` until its worker has saved a checkpoint and stopped."""
    job = await _find(session, who.project_id, fine_tuning_job_id)
    return await _view(session, await service.pause(session, who.project_id, job.id))


@router.post("/{fine_tuning_job_id}/resume", dependencies=[OnceWhole], operation_id="resumeFineTuningJob")
async def resume(fine_tuning_job_id: str, request: Request, session: Session, who: Writer) -> FineTuningJob:
    job = await _find(session, who.project_id, fine_tuning_job_id)
    return await _view(
        session, await service.resume(session, who.project_id, job.id, request.app.state.wake_ups)
    )


@router.get("/{fine_tuning_job_id}/events", operation_id="listFineTuningEvents")
async def list_events(
    fine_tuning_job_id: str, session: Session, who: Reader, limit: Limit = 20, after: str | None = None
) -> WireList[JobEventView]:
    """Events of a job, newest first."""
    job = await _find(session, who.project_id, fine_tuning_job_id)
    before = None if after is None else events.number_of(job.id, after)
    if after is not None and before is None:
        raise unknown_after(after)
    page, more = await events.page(session, job, limit=limit, before=before)
    return listed(page, has_more=more)


@router.get("/{fine_tuning_job_id}/checkpoints", operation_id="listFineTuningJobCheckpoints")
async def list_checkpoints(
    fine_tuning_job_id: str, session: Session, who: Reader, limit: Limit = 10, after: str | None = None
) -> WireList[CheckpointView]:
    """Checkpoints of a job, highest step first: the three best by held-out reward, and the newest."""
    job = await _find(session, who.project_id, fine_tuning_job_id)
    place = None if after is None else await queries.find_checkpoint(session, job.id, after)
    if after is not None and place is None:
        raise unknown_after(after)
    before = place.step if place else None
    rows, more = await queries.checkpoints(session, job.id, limit=limit, before=before)
    return listed(await checkpoint_views(session, job, rows), has_more=more)


async def _translated(
    session: Session, project_id: str, body: JobCreate, method: Reinforcement
) -> Translated:
    base, start = await _model(session, project_id, body.model)
    try:
        dataset = await datasets.get(session, project_id, body.training_file)
    except NotFound as error:
        raise InvalidInput(
            f"There is no file {body.training_file[:100]}.",
            code="file_not_found",
            param="training_file",
            hint="Upload it with POST /v1/files.",
        ) from error
    rows, hidden_size = max(dataset.rows, 1), base_models.hidden_size(base)
    return translate(body, method, rows, hidden_size, base=base.id, start=start)


async def _model(session: Session, project_id: str, name: str) -> tuple[BaseModel, str | None]:
    if start_adapter.is_adapter(name):
        start = await start_adapter.find(session, project_id, name, "model")
        return start.model, start.id
    model = await model_names.find(session, project_id, name)
    return model.base, None if model.weights is None else model.weights.id


async def _find(session: Session, project_id: str, id: str) -> Job:
    job = await service.get(session, project_id, id)
    if job.purpose != "train":
        raise NotFound(f"There is no job {id}.", code="job_not_found", param="fine_tuning_job_id")
    return job


async def _place(session: Session, project_id: str, after: str | None) -> Job | None:
    try:
        return None if after is None else await service.get(session, project_id, after)
    except NotFound as error:
        raise unknown_after(after or "") from error


async def _view(session: Session, job: Job) -> FineTuningJob:
    return (await _views(session, job.project_id, [job]))[0]


async def _views(session: Session, project_id: str, jobs: Sequence[Job]) -> list[FineTuningJob]:
    tokens = await queries.trained_tokens(session, [job.id for job in jobs])
    rows = await queries.dataset_rows(session, jobs)
    sizes = await queries.hidden_sizes(session, jobs)
    project = await queries.project(session, project_id)
    return [
        job_view(job, project, tokens.get(job.id), rows.get(job.dataset_id, 1), sizes.get(job.model_key))
        for job in jobs
    ]


def _metadata(request: Request) -> dict[str, str] | None:
    start, end = "metadata[", "]"
    if request.query_params.get("metadata") == "null":
        return {}
    pairs = {
        name.removeprefix(start).removesuffix(end): value
        for name, value in request.query_params.multi_items()
        if name.startswith(start) and name.endswith(end)
    }
    return pairs or None
