"""Groups of compared jobs: the spread in a group, and its difference from the first job's group."""

from collections.abc import Iterable, Sequence

from backend.jobs.comparison.measured import Measured, cost, job_seconds, mean_tokens
from backend.models import Job
from reinforge.comparison.between_groups import GroupResampler
from reinforge.comparison.groups import JobGroup, job_groups
from reinforge.comparison.held_out import Difference
from reinforge.comparison.verdict import sentence
from reinforge.errors import InvalidInput
from reinforge.schemas.comparison import ComparedGroup, HeldOutDifference, JobSpread

FEW_JOBS = 5


def grouped(jobs: Sequence[Job], by: str) -> list[JobGroup]:
    try:
        return job_groups([job.resolved_spec for job in jobs], by)
    except KeyError as error:
        raise InvalidInput(
            f"None of the jobs has a setting {by}.",
            code="setting_not_found",
            param="group",
            hint="Use a dotted path of the specification, such as algorithm.preset, or `seeds`.",
        ) from error


def compare_groups(
    measured: Sequence[Measured], groups: Sequence[JobGroup], gpu_hour_price: float | None
) -> list[ComparedGroup]:
    resampler = GroupResampler([one.rows.rewards for one in measured])
    baseline = groups[0]
    return [
        _compared(
            group,
            [measured[place] for place in group.members],
            baseline=baseline,
            baseline_jobs=[measured[place] for place in baseline.members],
            resampler=resampler,
            gpu_hour_price=gpu_hour_price,
        )
        for group in groups
    ]


def _compared(
    group: JobGroup,
    jobs: Sequence[Measured],
    *,
    baseline: JobGroup,
    baseline_jobs: Sequence[Measured],
    resampler: GroupResampler,
    gpu_hour_price: float | None,
) -> ComparedGroup:
    is_baseline = group is baseline
    same_dataset = len({one.held_out_dataset for one in (*jobs, *baseline_jobs)}) == 1
    difference = (
        None
        if is_baseline
        else resampler.difference(baseline.members, group.members, same_dataset=same_dataset)
    )
    tokens, baseline_tokens = (
        _spread(mean_tokens(one.rows) for one in part) for part in (jobs, baseline_jobs)
    )
    return ComparedGroup(
        label=group.label,
        value=group.value,
        jobs=[one.job.id for one in jobs],
        held_out=_spread(one.rows.mean for one in jobs),
        held_out_before=_spread(one.job.held_out_reward_before for one in jobs),
        difference=None if difference is None else HeldOutDifference.of(difference),
        verdict=None
        if is_baseline
        else sentence(
            group.label,
            baseline.label,
            difference,
            length=None if tokens is None else tokens.mean,
            baseline_length=None if baseline_tokens is None else baseline_tokens.mean,
            jobs=(_evaluated(jobs), _evaluated(baseline_jobs)),
        ),
        notes=[] if is_baseline else _notes([*baseline_jobs, *jobs], (baseline_jobs, jobs), difference),
        completion_tokens=tokens,
        seconds=_spread(job_seconds(one.job) for one in jobs),
        sampled_tokens=_spread(one.usage.get("sampled_tokens", 0.0) for one in jobs),
        cost=_spread(cost(one.usage, gpu_hour_price) for one in jobs),
    )


def _spread(values: Iterable[float | None]) -> JobSpread | None:
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    mean = sum(numbers) / len(numbers)
    return JobSpread(mean=mean, minimum=min(numbers), maximum=max(numbers), jobs=len(numbers))


def _evaluated(jobs: Sequence[Measured]) -> int:
    return sum(bool(one.rows.rewards) for one in jobs)


def _notes(
    jobs: Sequence[Measured], groups: tuple[Sequence[Measured], ...], difference: Difference | None
) -> list[str]:
    notes = []
    if len({tuple(one.rewards) for one in jobs}) > 1:
        notes.append("Not all jobs have the same reward: their held-out rewards are not on one scale.")
    if len({one.held_out_dataset for one in jobs}) > 1:
        notes.append("The held-out rows are of several datasets: the interval compares samples of rows.")
    elif difference is not None and not difference.paired:
        notes.append(
            "The jobs do not share their held-out prompts: the interval compares samples of prompts."
        )
    if difference is not None and difference.interval.rows < 20:
        notes.append("Fewer than 20 held-out prompts: the interval is too narrow to be relied on.")
    if difference is not None and min(_evaluated(group) for group in groups) < 2:
        notes.append("One group has a single job: its spread over seeds is not in the interval.")
    elif difference is not None and min(_evaluated(group) for group in groups) < FEW_JOBS:
        notes.append(f"Fewer than {FEW_JOBS} jobs in a group: the interval is approximate.")
    if len({one.job.model_key for one in jobs}) > 1:
        notes.append("The jobs have several base models.")
    return notes
