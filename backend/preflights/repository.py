"""Queries for the records of a pre-flight's job."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Attempt, Completion, Event, Job, MetricPoint, MetricSeries, StepRollouts


class Times(NamedTuple):
    load_seconds: float
    save_seconds: float


async def find(session: AsyncSession, project_id: str, id: str) -> Job | None:
    query = select(Job).where(Job.id == id, Job.project_id == project_id, Job.purpose == "preflight")
    job: Job | None = await session.scalar(query)
    return job


async def step_values(session: AsyncSession, job_id: str) -> list[dict[str, float | None]]:
    rows = await session.execute(
        select(MetricPoint.step, MetricSeries.key, MetricPoint.value)
        .join(MetricSeries, MetricSeries.id == MetricPoint.series_id)
        .where(MetricSeries.job_id == job_id, MetricSeries.kind == "train")
        .order_by(MetricPoint.step)
    )
    values_by_step: dict[int, dict[str, float | None]] = {}
    for step, key, value in rows:
        values_by_step.setdefault(step, {})[key] = value
    return list(values_by_step.values())


async def completions(session: AsyncSession, job_id: str) -> Sequence[Completion]:
    query = select(Completion).where(Completion.job_id == job_id, Completion.split == "train")
    return (
        await session.scalars(query.order_by(Completion.step, Completion.prompt_no, Completion.sample_no))
    ).all()


async def tables(session: AsyncSession, job_id: str) -> Sequence[str]:
    query = select(StepRollouts.sha256).where(StepRollouts.job_id == job_id, StepRollouts.split == "train")
    return (await session.scalars(query.order_by(StepRollouts.step))).all()


async def times(session: AsyncSession, job_id: str) -> Times:
    claimed = await session.scalar(select(func.max(Attempt.claimed_at)).where(Attempt.job_id == job_id))
    events = await session.execute(
        select(Event.type, Event.data, Event.ts).where(Event.job_id == job_id).order_by(Event.seq)
    )
    running = saving = saved = None
    for type, data, ts in events:
        if type == "status" and data.get("status") == "running":
            running = ts
        elif type == "phase" and data.get("phase") == "saving":
            saving = ts
        elif type == "checkpoint" and saving is not None:
            saved = ts
    load = (running - claimed).total_seconds() if running and claimed else 0.0
    return Times(max(0.0, load), (saved - saving).total_seconds() if saved and saving else 0.0)
