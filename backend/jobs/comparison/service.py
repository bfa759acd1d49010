"""Comparison of jobs: rows from the database, statistics in a thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.comparison import repository
from backend.jobs.comparison.repository import HeldOutRewards
from backend.jobs.lifecycle.transitions import unknown_job
from backend.models import Job
from reinforge.comparison import held_out
from reinforge.comparison.settings import differences
from reinforge.comparison.verdict import sentence
from reinforge.errors import InvalidInput
from reinforge.schemas.comparison import (
    ComparedJob,
    HeldOutDifference,
    HeldOutEstimate,
    JobComparison,
    Moment,
    SettingDifference,
)


@dataclass(frozen=True)
class Measured:
    """What is stored about one job."""

    job: Job
    step: int | None
    rows: HeldOutRewards
    usage: dict[str, float]
    rewards: list[str]
    held_out_dataset: str
    """SHA-256 of its content."""


async def compare(
    session: AsyncSession, project_id: str, ids: Sequence[str], *, at: Moment, gpu_hour_price: float | None
) -> JobComparison:
    """The first job is the baseline. Raises NotFound, InvalidInput `jobs_repeated`."""
    if len(set(ids)) < len(ids):
        raise InvalidInput("A job is named twice.", code="jobs_repeated", param="job")
    jobs = await repository.find_all(session, project_id, ids)
    for id in ids:
        if id not in jobs:
            raise unknown_job(id)
    newest = await repository.newest_evaluations(session, ids)
    steps = {id: _evaluation(jobs[id], step, at) for id, step in newest.items()}
    rows = await repository.held_out_rows(session, steps)
    usage = await repository.usage(session, project_id, ids)
    rewards = await repository.reward_hashes(session, ids)
    datasets = await repository.held_out_datasets(session, ids)
    measured = [
        Measured(
            jobs[id],
            steps.get(id),
            rows.get(id, HeldOutRewards()),
            usage.get(id, {}),
            rewards.get(id, []),
            datasets[id],
        )
        for id in ids
    ]
    compared = await anyio.to_thread.run_sync(partial(_compare, measured, gpu_hour_price))
    settings = differences([jobs[id].resolved_spec for id in ids])
    return JobComparison(
        baseline=ids[0],
        at=at,
        jobs=compared,
        settings=[SettingDifference(path=path, values=values) for path, values in settings.items()],
    )


def _evaluation(job: Job, newest: int, at: Moment) -> int:
    return job.best_step if at == "best" and job.best_step is not None else newest


def _compare(measured: Sequence[Measured], gpu_hour_price: float | None) -> list[ComparedJob]:
    baseline = measured[0]
    return [_compared(baseline, one, gpu_hour_price) for one in measured]


def _compared(baseline: Measured, one: Measured, gpu_hour_price: float | None) -> ComparedJob:
    job, is_baseline = one.job, one is baseline
    estimate = held_out.interval(list(one.rows.rewards.values()))
    same_dataset = one.held_out_dataset == baseline.held_out_dataset
    difference = (
        None
        if is_baseline
        else held_out.difference(baseline.rows.rewards, one.rows.rewards, same_dataset=same_dataset)
    )
    tokens, baseline_tokens = _mean_tokens(one.rows), _mean_tokens(baseline.rows)
    name, baseline_name = (
        (job.name, baseline.job.name) if job.name != baseline.job.name else (job.id, baseline.job.id)
    )
    return ComparedJob(
        id=job.id,
        name=job.name,
        status=job.status,
        step=job.step,
        held_out_step=one.step,
        held_out=None if estimate is None else HeldOutEstimate.model_validate(estimate),
        held_out_before=job.held_out_reward_before,
        difference=None
        if difference is None
        else HeldOutDifference(
            value=difference.interval.value,
            low=difference.interval.low,
            high=difference.interval.high,
            rows=difference.interval.rows,
            paired=difference.paired,
        ),
        verdict=None
        if is_baseline
        else sentence(name, baseline_name, difference, length=tokens, baseline_length=baseline_tokens),
        notes=[] if is_baseline else _notes(baseline, one, difference),
        completion_tokens=tokens,
        seconds=(job.finished_at - job.started_at).total_seconds()
        if job.finished_at and job.started_at
        else None,
        worker_seconds=one.usage.get("device_seconds", 0.0),
        sampled_tokens=one.usage.get("sampled_tokens", 0.0),
        trained_tokens=one.usage.get("trained_tokens", 0.0),
        cost=_cost(one.usage, gpu_hour_price),
    )


def _mean_tokens(rows: HeldOutRewards) -> float | None:
    return rows.tokens / rows.completions if rows.completions else None


def _cost(usage: dict[str, float], gpu_hour_price: float | None) -> float | None:
    if gpu_hour_price is None:
        return None
    return usage.get("device_seconds", 0.0) / 3600 * gpu_hour_price + usage.get("judge_spend", 0.0)


def _notes(baseline: Measured, one: Measured, difference: held_out.Difference | None) -> list[str]:
    notes = []
    if one.rewards != baseline.rewards:
        notes.append("Its reward is not the baseline's: the held-out rewards are not on one scale.")
    if one.held_out_dataset != baseline.held_out_dataset:
        notes.append("Its held-out rows are of another dataset: the interval compares two samples of rows.")
    elif difference is not None and not difference.paired:
        notes.append(
            "Its held-out prompts are not the baseline's: the interval compares two samples of prompts."
        )
    if difference is not None and difference.interval.rows < 20:
        notes.append("Fewer than 20 held-out prompts: the interval is too narrow to be relied on.")
    if one.job.model_key != baseline.job.model_key:
        notes.append("Its base model is not the baseline's.")
    return notes
