"""Verdicts on jobs, from stored series and held-out completions."""

from collections.abc import Iterable
from statistics import fmean, stdev

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Completion, Job, MetricPoint, MetricSeries
from reinforge.diagnosis.verdict import Evidence, HeldOutScore, Points, judge

_HELD_OUT = ("held_out/reward_mean", "held_out/reward_std_error")
_ANSWERS = ("held_out/answer_share", "held_out/answer_std_error")
_TRAIN = ("reward/mean", "completions/truncated_share", "reward/error_share", "reward/length_correlation")
_SAME = 1e-6


async def refresh(session: AsyncSession, job: Job) -> None:
    if job.purpose == "train" and job.step > 0:
        job.verdict = judge(await evidence(session, job)).model_dump(mode="json")


async def evidence(session: AsyncSession, job: Job, *, steps: Iterable[int] = ()) -> Evidence:
    start = job.forked_step or 0
    series = await _series(session, job.id, start)
    held_out = _measured(series, *_HELD_OUT)
    if not held_out:
        return _with_train(series, Evidence(start=start))
    rewards = {point.step: point.value for point in held_out}
    best = max(held_out, key=lambda point: (point.value, point.step)).step
    compared = {*steps, best, held_out[-1].step} & rewards.keys()
    rows = await _rows(session, job.id, {held_out[0].step, *compared})
    base = rows.get(held_out[0].step, {})
    result = Evidence(
        held_out=held_out,
        answers=_measured(series, *_ANSWERS),
        rows=len(base),
        start=start,
        paired={
            step: pair
            for step in compared
            if (pair := _paired(step, base, rows.get(step, {}), rewards, held_out[0].value)) is not None
        },
    )
    return _with_train(series, result)


def _with_train(series: dict[str, Points], measured: Evidence) -> Evidence:
    reward, truncated, errors, correlation = (series.get(key, ()) for key in _TRAIN)
    return Evidence(
        held_out=measured.held_out,
        answers=measured.answers,
        rows=measured.rows,
        start=measured.start,
        paired=measured.paired,
        reward=reward,
        truncated=truncated,
        errors=errors,
        length_correlation=correlation,
    )


async def _series(session: AsyncSession, job_id: str, start: int) -> dict[str, Points]:
    query = (
        select(MetricSeries.key, MetricPoint.step, MetricPoint.value)
        .join(MetricPoint, MetricPoint.series_id == MetricSeries.id)
        .where(MetricSeries.job_id == job_id, MetricSeries.key.in_((*_HELD_OUT, *_ANSWERS, *_TRAIN)))
        .where(MetricPoint.step >= start, MetricPoint.value.is_not(None))
        .order_by(MetricPoint.step)
    )
    points_by_key: dict[str, list[tuple[int, float]]] = {}
    for row in await session.execute(query):
        points_by_key.setdefault(row.key, []).append((row.step, row.value))
    return dict(points_by_key)


def _measured(series: dict[str, Points], key: str, error_key: str) -> list[HeldOutScore]:
    errors = dict(series.get(error_key, ()))
    return [HeldOutScore(step, value, errors.get(step)) for step, value in series.get(key, ())]


async def _rows(session: AsyncSession, job_id: str, steps: set[int]) -> dict[int, dict[int, float]]:
    query = (
        select(Completion.step, Completion.row_index, func.avg(Completion.reward))
        .where(Completion.job_id == job_id, Completion.split == "held_out", Completion.step.in_(steps))
        .where(Completion.reward.is_not(None))
        .group_by(Completion.step, Completion.row_index)
    )
    rewards_by_step: dict[int, dict[int, float]] = {}
    for step, row, value in await session.execute(query):
        rewards_by_step.setdefault(step, {})[row] = value
    return rewards_by_step


def _paired(
    step: int, base: dict[int, float], then: dict[int, float], rewards: dict[int, float], base_reward: float
) -> HeldOutScore | None:
    both = sorted(base.keys() & then.keys())
    if len(both) < 2 or len(both) < max(len(base), len(then)):
        return None
    if abs(fmean(base.values()) - base_reward) > _SAME or abs(fmean(then.values()) - rewards[step]) > _SAME:
        return None
    changes = [then[row] - base[row] for row in both]
    return HeldOutScore(step, fmean(changes), stdev(changes) / len(changes) ** 0.5)
