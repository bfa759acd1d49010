"""Metering of an attempt. Steps that are repeated after a resume count again."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend import usage
from backend.models import Attempt, Job, MetricPoint, MetricSeries, now
from backend.workers.records.metric_points import Points
from reinforge.records import Rollouts
from reinforge.schemas.usage import UsageKind
from reinforge.schemas.worker_api import LEASE_SECONDS

GROWING: dict[str, UsageKind] = {"tokens/trained": "trained_tokens", "judge/cost": "judge_spend"}


async def count_time(session: AsyncSession, job: Job, attempt: Attempt) -> None:
    """Count the device seconds since the last count, at most the length of a lease for each device."""
    moment = now()
    passed = (moment - (attempt.counted_at or attempt.claimed_at)).total_seconds()
    attempt.counted_at = moment
    devices = max(1, int(job.facts.get("devices", 1) or 1))
    seconds = devices * min(passed, LEASE_SECONDS)
    await usage.add(session, job.project_id, {"device_seconds": seconds}, job.id)


class Meter:
    def __init__(self, session: AsyncSession, job: Job, attempt: Attempt, points: Points) -> None:
        self._session, self._job, self._attempt, self._points = session, job, attempt, points
        self._used: defaultdict[UsageKind, float] = defaultdict(float)
        self._last: dict[str, tuple[int, float]] = {}

    def count_rollouts(self, record: Rollouts) -> None:
        self._used["sampled_tokens"] += float(sum(row.length for row in record.rows))

    async def count_steps(self, steps: Sequence[int], values: Mapping[str, Sequence[float | None]]) -> None:
        """Call it before the metrics' points are added."""
        for key, kind in GROWING.items():
            for step, value in zip(steps, values.get(key, ()), strict=False):
                if value is not None:
                    self._used[kind] += await self._growth(key, step, value)

    async def _growth(self, key: str, step: int, value: float) -> float:
        before = await self._before(key, step)
        self._last[key] = (step, value)
        if before is None and self._attempt.resume_step > 0:
            return 0.0  # a fork: the source job's usage is counted there
        return max(0.0, value - (before or 0.0))

    async def store(self) -> None:
        used, self._used = self._used, defaultdict(float)
        await usage.add(self._session, self._job.project_id, used, self._job.id)

    async def _before(self, key: str, step: int) -> float | None:
        last = self._last.get(key)
        if last is not None and last[0] < step:
            return last[1]
        await self._points.store()  # a repeated step: the table has the step before it
        return await _last(self._session, self._job.id, key, step)


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
