"""What an attempt uses, counted while its worker reports: device time, tokens, what judges cost.

Each record is applied once, so it is counted once; steps that a resume repeats were paid for twice and count twice.
"""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend import usage
from backend.models import Attempt, Job, MetricPoint, MetricSeries, now
from reinforge.records import Rollouts, StepMetrics
from reinforge.schemas.usage import UsageKind
from reinforge.schemas.worker_door import LEASE_SECONDS

GROWING: dict[str, UsageKind] = {"tokens/trained": "trained_tokens", "judge/cost": "judge_spend"}
"""Metrics that tell a sum since the job's start, and what their growth counts as."""


async def count_time(session: AsyncSession, job: Job, attempt: Attempt) -> None:
    """Device time of a locked job since it was last counted, at most a lease: nobody knows what happened beyond."""
    moment = now()
    passed = (moment - (attempt.counted_at or attempt.claimed_at)).total_seconds()
    attempt.counted_at = moment
    devices = max(1, int(job.facts.get("devices", 1) or 1))
    await usage.add(session, job.project_id, "device_seconds", devices * min(passed, LEASE_SECONDS), job.id)


async def count_rollouts(session: AsyncSession, job: Job, record: Rollouts) -> None:
    tokens = float(sum(row.length for row in record.rows))
    await usage.add(session, job.project_id, "sampled_tokens", tokens, job.id)


async def count_step(session: AsyncSession, job: Job, attempt: Attempt, record: StepMetrics) -> None:
    """Before the step's points are stored: the growth since the last step that told the metric."""
    for key, kind in GROWING.items():
        value = record.values.get(key)
        if value is None:
            continue
        before = await _last(session, job.id, key, record.step)
        if before is None and attempt.resume_step > 0:
            continue  # a job that goes on from another one's step: what that one used is counted there
        await usage.add(session, job.project_id, kind, value - (before or 0.0), job.id)


async def _last(session: AsyncSession, job_id: str, key: str, step: int) -> float | None:
    value: float | None = await session.scalar(
        select(MetricPoint.value)
        .join(MetricSeries, MetricSeries.id == MetricPoint.series_id)
        .where(
            MetricSeries.job_id == job_id,
            MetricSeries.kind == "train",
            MetricSeries.key == key,
            MetricPoint.step < step,
            MetricPoint.value.is_not(None),
        )
        .order_by(MetricPoint.step.desc())
        .limit(1)
    )
    return value
