"""Read-only queries for the jobs of OpenAI's API."""

from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.http.cursors import by_creation, cut
from backend.jobs.monitoring import event_store
from backend.jobs.monitoring.event_store import OneEvent
from backend.models import (
    Adapter,
    BaseModel,
    Checkpoint,
    Dataset,
    Event,
    Job,
    MetricPoint,
    MetricSeries,
    Project,
)

EVENT_TYPES = ("status", "metrics", "checkpoint", "finding", "rewind", "change")


async def project(session: AsyncSession, id: str) -> Project:
    return await session.get_one(Project, id)


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: Job | None, metadata: dict[str, str] | None
) -> tuple[list[Job], bool]:
    query = select(Job).where(Job.project_id == project_id, Job.purpose == "train")
    if metadata is not None:
        stored_metadata = Job.resolved_spec["metadata"]
        query = query.where(
            stored_metadata.contains(metadata) if metadata else stored_metadata == func.jsonb_build_object()
        )
    place = (after.created_at, after.id) if after else None
    query = by_creation(query, Job.created_at, Job.id, limit=limit, after=place)
    return cut((await session.scalars(query)).all(), limit)


async def trained_tokens(session: AsyncSession, jobs: Iterable[str]) -> dict[str, int]:
    query = (
        select(MetricSeries.job_id, func.max(MetricPoint.value))
        .join(MetricPoint, MetricPoint.series_id == MetricSeries.id)
        .where(MetricSeries.job_id.in_(list(jobs)), MetricSeries.kind == "train")
        .where(MetricSeries.key == "tokens/trained")
        .group_by(MetricSeries.job_id)
    )
    return {job: int(count) for job, count in (await session.execute(query)).all() if count is not None}


async def dataset_rows(session: AsyncSession, jobs: Iterable[Job]) -> dict[str, int]:
    query = select(Dataset.id, Dataset.rows).where(Dataset.id.in_({job.dataset_id for job in jobs}))
    return {row.id: row.rows for row in await session.execute(query)}


async def hidden_sizes(session: AsyncSession, jobs: Iterable[Job]) -> dict[str, int | None]:
    query = select(BaseModel).where(BaseModel.key.in_({job.model_key for job in jobs}))
    return {model.key: base_models.hidden_size(model) for model in await session.scalars(query)}


def _reported_events() -> ColumnElement[bool]:
    levels = ("info", "warning", "error")
    line = and_(Event.type == "log", Event.data["level"].as_string().in_(levels))
    return or_(Event.type.in_(EVENT_TYPES), line)


async def events(session: AsyncSession, job_id: str, *, before: int | None, limit: int) -> Sequence[OneEvent]:
    return await event_store.before(session, job_id, before, limit, _reported_events())


async def metrics_before(session: AsyncSession, job_id: str, seq: int, kind: str) -> OneEvent | None:
    conditions = (Event.type == "metrics", Event.data["kind"].as_string() == kind)
    return next(iter(await event_store.before(session, job_id, seq, 1, *conditions)), None)


async def values_at(
    session: AsyncSession, job_id: str, steps: Iterable[int], keys: Iterable[str]
) -> dict[int, dict[str, float]]:
    query = (
        select(MetricPoint.step, MetricSeries.key, MetricPoint.value)
        .join(MetricSeries, MetricSeries.id == MetricPoint.series_id)
        .where(MetricSeries.job_id == job_id, MetricSeries.key.in_(list(keys)))
        .where(MetricPoint.step.in_(list(steps)))
    )
    values_by_step: dict[int, dict[str, float]] = {}
    for step, key, value in (await session.execute(query)).all():
        if value is not None:
            values_by_step.setdefault(step, {})[key] = value
    return values_by_step


async def checkpoints(
    session: AsyncSession, job_id: str, *, limit: int, before: int | None
) -> tuple[list[Checkpoint], bool]:
    query = select(Checkpoint).where(Checkpoint.job_id == job_id)
    if before is not None:
        query = query.where(Checkpoint.step < before)
    return cut((await session.scalars(query.order_by(Checkpoint.step.desc()).limit(limit + 1))).all(), limit)


async def find_checkpoint(session: AsyncSession, job_id: str, id: str) -> Checkpoint | None:
    checkpoint: Checkpoint | None = await session.scalar(
        select(Checkpoint).where(Checkpoint.job_id == job_id, Checkpoint.id == id)
    )
    return checkpoint


async def adapters(session: AsyncSession, project_id: str) -> list[tuple[Adapter, Job]]:
    query = (
        select(Adapter, Job)
        .join(Job, Job.id == Adapter.job_id)
        .where(Adapter.project_id == project_id, Adapter.deleted_at.is_(None))
        .order_by(Adapter.created_at.desc(), Adapter.id.desc())
    )
    return [(adapter, job) for adapter, job in (await session.execute(query)).all()]
