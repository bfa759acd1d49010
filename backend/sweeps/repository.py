"""Queries about sweeps, their trials and what their jobs have measured."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, newest_first
from backend.models import Job, MetricPoint, MetricSeries, SweepRow, SweepTrialRow, UsageRow

HELD_OUT_REWARD = "held_out/reward_mean"
OPEN = ("running", "cancelling")


@dataclass
class StoredTrial:
    row: SweepTrialRow
    job: Job | None
    steps: list[int] = field(default_factory=list)
    rewards: list[float | None] = field(default_factory=list)
    usage: dict[str, float] = field(default_factory=dict)


async def find(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> SweepRow | None:
    query = select(SweepRow).where(SweepRow.id == id, SweepRow.project_id == project_id)
    row: SweepRow | None = await session.scalar(query.with_for_update() if lock else query)
    return row


async def page(
    session: AsyncSession, project_id: str, status: str | None, *, limit: int, after: str | None
) -> tuple[list[SweepRow], bool]:
    query = select(SweepRow).where(SweepRow.project_id == project_id)
    if status is not None:
        query = query.where(SweepRow.status == status)
    query = newest_first(query, SweepRow.created_at, SweepRow.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def open_ids(session: AsyncSession) -> list[str]:
    query = select(SweepRow.id).where(SweepRow.status.in_(OPEN)).order_by(SweepRow.created_at, SweepRow.id)
    return list(await session.scalars(query))


async def lock_open(session: AsyncSession, id: str) -> SweepRow | None:
    """The open sweep, locked; None if it has ended, or another process plans it."""
    query = select(SweepRow).where(SweepRow.id == id, SweepRow.status.in_(OPEN))
    row: SweepRow | None = await session.scalar(query.with_for_update(skip_locked=True))
    return row


async def trials(session: AsyncSession, ids: Sequence[str]) -> dict[str, list[StoredTrial]]:
    query = (
        select(SweepTrialRow, Job)
        .outerjoin(Job, Job.id == SweepTrialRow.job_id)
        .where(SweepTrialRow.sweep_id.in_(ids))
        .order_by(SweepTrialRow.sweep_id, SweepTrialRow.number)
        .execution_options(populate_existing=True)
    )
    stored: dict[str, list[StoredTrial]] = {id: [] for id in ids}
    by_job: dict[str, StoredTrial] = {}
    for row, job in await session.execute(query):
        trial = StoredTrial(row, job)
        stored[row.sweep_id].append(trial)
        if job is not None:
            by_job[job.id] = trial
    await _add_rewards(session, by_job)
    await _add_usage(session, by_job)
    return stored


async def _add_rewards(session: AsyncSession, by_job: dict[str, StoredTrial]) -> None:
    query = (
        select(MetricSeries.job_id, MetricPoint.step, MetricPoint.value)
        .join(MetricPoint, MetricPoint.series_id == MetricSeries.id)
        .where(
            MetricSeries.job_id.in_(by_job),
            MetricSeries.kind == "held_out",
            MetricSeries.key == HELD_OUT_REWARD,
            MetricPoint.step > 0,
        )
        .order_by(MetricSeries.job_id, MetricPoint.step)
    )
    for job, step, value in await session.execute(query):
        by_job[job].steps.append(step)
        by_job[job].rewards.append(value)


async def _add_usage(session: AsyncSession, by_job: dict[str, StoredTrial]) -> None:
    query = (
        select(UsageRow.source, UsageRow.kind, func.sum(UsageRow.amount))
        .where(UsageRow.source.in_(by_job))
        .group_by(UsageRow.source, UsageRow.kind)
    )
    amounts: dict[str, dict[str, float]] = defaultdict(dict)
    for job, kind, amount in await session.execute(query):
        amounts[job][kind] = amount
    for job, used in amounts.items():
        by_job[job].usage = used


async def pending(session: AsyncSession, id: str) -> list[SweepTrialRow]:
    query = select(SweepTrialRow).where(SweepTrialRow.sweep_id == id, SweepTrialRow.state == "pending")
    return list(await session.scalars(query.order_by(SweepTrialRow.number)))


async def lock_trial(session: AsyncSession, id: str, number: int) -> SweepTrialRow | None:
    """The pending trial of a running sweep, both locked; None if there is none."""
    running = select(SweepRow.id).where(SweepRow.id == id, SweepRow.status == "running")
    if await session.scalar(running.with_for_update(read=True)) is None:
        return None
    pending_trial = select(SweepTrialRow).where(
        SweepTrialRow.sweep_id == id, SweepTrialRow.number == number, SweepTrialRow.state == "pending"
    )
    trial: SweepTrialRow | None = await session.scalar(
        pending_trial.with_for_update().execution_options(populate_existing=True)
    )
    return trial
