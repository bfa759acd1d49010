"""Queries about the jobs and workers from which suggested values are computed."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Attempt, Job, MetricPoint, MetricSeries, Worker, now
from backend.rpc.client import ONLINE_SECONDS

MOST_PREFLIGHTS = 20
MOST_JOBS = 20
NEWEST_STEPS = 200

Series = dict[str, dict[int, float]]


async def devices(session: AsyncSession) -> list[str]:
    online_since = now() - timedelta(seconds=ONLINE_SECONDS)
    query = select(Worker.device).where(Worker.kind == "trainer", Worker.last_seen_at > online_since)
    return sorted({device for device in await session.scalars(query) if device is not None})


async def preflights(
    session: AsyncSession, project_id: str, model_key: str, dataset_id: str, start_sha256: str | None
) -> Sequence[Job]:
    query = select(Job).where(
        Job.project_id == project_id,
        Job.purpose == "preflight",
        Job.model_key == model_key,
        Job.dataset_id == dataset_id,
        Job.start_sha256.is_not_distinct_from(start_sha256),
        Job.status.in_(("succeeded", "paused")),
    )
    return (await session.scalars(query.order_by(Job.created_at.desc()).limit(MOST_PREFLIGHTS))).all()


async def jobs(
    session: AsyncSession, project_id: str, model_key: str, engine: str, selection: str, dataset_id: str
) -> Sequence[Job]:
    query = select(Job).where(
        Job.project_id == project_id,
        Job.purpose == "train",
        Job.model_key == model_key,
        Job.step > 0,
        Job.resolved_spec["rollout"]["engine"].as_string() == engine,
        Job.resolved_spec["algorithm"]["selection"]["type"].as_string() == selection,
    )
    order = ((Job.dataset_id == dataset_id).desc(), Job.created_at.desc())
    return (await session.scalars(query.order_by(*order).limit(MOST_JOBS))).all()


async def series(session: AsyncSession, job: Job, keys: Sequence[str]) -> Series:
    rows = await session.execute(
        select(MetricSeries.key, MetricPoint.step, MetricPoint.value)
        .join(MetricPoint, MetricPoint.series_id == MetricSeries.id)
        .where(
            MetricSeries.job_id == job.id,
            MetricSeries.kind == "train",
            MetricSeries.key.in_(keys),
            MetricPoint.step > job.step - NEWEST_STEPS,
        )
    )
    values: Series = {key: {} for key in keys}
    for key, step, value in rows:
        if value is not None:
            values[key][step] = value
    return values


async def load_seconds(session: AsyncSession, job: Job) -> float:
    claimed = await session.scalar(select(func.min(Attempt.claimed_at)).where(Attempt.job_id == job.id))
    if claimed is None or job.started_at is None:
        return 0.0
    return max(0.0, (job.started_at - claimed).total_seconds())
