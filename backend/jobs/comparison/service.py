"""Compares jobs: reads database rows, and computes statistics in a thread."""

from collections.abc import Sequence
from functools import partial

import anyio
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.comparison import repository
from backend.jobs.comparison.groups import compare_groups, grouped
from backend.jobs.comparison.measured import Measured, cost, job_seconds, jobs_of, mean_tokens, measure
from reinforge.comparison import held_out
from reinforge.comparison.groups import JobGroup
from reinforge.comparison.settings import differences
from reinforge.comparison.verdict import sentence
from reinforge.schemas.comparison import (
    ComparedGroup,
    ComparedJob,
    HeldOutDifference,
    HeldOutEstimate,
    JobComparison,
    Moment,
    SettingDifference,
)


async def compare(
    session: AsyncSession,
    project_id: str,
    ids: Sequence[str],
    *,
    at: Moment,
    group: str | None,
    gpu_hour_price: float | None,
) -> JobComparison:
    jobs = await jobs_of(session, project_id, ids)
    measured = await measure(session, project_id, jobs, at)
    groups = [] if group is None else grouped(jobs, group)
    compared, compared_groups = await anyio.to_thread.run_sync(
        partial(_compare, measured, groups, gpu_hour_price)
    )
    settings = differences([job.resolved_spec for job in jobs])
    return JobComparison(
        baseline=ids[0],
        at=at,
        jobs=compared,
        settings=[SettingDifference(path=path, values=values) for path, values in settings.items()],
        group=group,
        groups=compared_groups,
        metrics=await repository.metric_keys(session, ids),
    )


def _compare(
    measured: Sequence[Measured], groups: Sequence[JobGroup], gpu_hour_price: float | None
) -> tuple[list[ComparedJob], list[ComparedGroup]]:
    baseline = measured[0]
    compared = [_compared(baseline, one, gpu_hour_price) for one in measured]
    return compared, compare_groups(measured, groups, gpu_hour_price) if groups else []


def _compared(baseline: Measured, one: Measured, gpu_hour_price: float | None) -> ComparedJob:
    job, is_baseline = one.job, one is baseline
    estimate = held_out.interval(list(one.rows.rewards.values()))
    same_dataset = one.held_out_dataset == baseline.held_out_dataset
    difference = (
        None
        if is_baseline
        else held_out.difference(baseline.rows.rewards, one.rows.rewards, same_dataset=same_dataset)
    )
    tokens, baseline_tokens = mean_tokens(one.rows), mean_tokens(baseline.rows)
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
        difference=None if difference is None else HeldOutDifference.of(difference),
        verdict=None
        if is_baseline
        else sentence(name, baseline_name, difference, length=tokens, baseline_length=baseline_tokens),
        notes=[] if is_baseline else _notes(baseline, one, difference),
        completion_tokens=tokens,
        seconds=job_seconds(job),
        worker_seconds=one.usage.get("device_seconds", 0.0),
        sampled_tokens=one.usage.get("sampled_tokens", 0.0),
        trained_tokens=one.usage.get("trained_tokens", 0.0),
        cost=cost(one.usage, gpu_hour_price),
    )


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
