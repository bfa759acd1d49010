"""Finds where two jobs first differ: the step from database rows, the token from that step's Parquet
objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread
from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.comparison import repository
from backend.jobs.comparison.measured import jobs_of
from backend.jobs.monitoring.completions import Split, read_group
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.models import Job, StepRollouts
from reinforge.comparison import held_out
from reinforge.comparison.divergence import Row, is_measured, machine_differences, row_difference
from reinforge.comparison.settings import differences
from reinforge.schemas.comparison import HeldOutDifference, SettingDifference
from reinforge.schemas.divergence import Divergence, Effect, MetricDifference, RowDifference

STEPS_AT_ONCE = 50
_TOKENS_APART = frozenset({"token_ids", "sampler_logprobs", "trainer_logprobs", "entropies", "advantage"})

_COMMON = text("""
SELECT one.step, one.split FROM step_rollouts AS one
JOIN step_rollouts AS other ON other.split = one.split AND other.step = one.step AND other.job_id = :other
WHERE one.job_id = :one ORDER BY one.step, one.split = 'held_out'
""")
_FIRST = """
WITH one AS (SELECT * FROM completion WHERE job_id = :one AND step BETWEEN :first AND :last),
other AS (SELECT * FROM completion WHERE job_id = :other AND step BETWEEN :first AND :last)
SELECT step, split, prompt_no FROM one {join} JOIN other USING (split, step, prompt_no, sample_no)
WHERE (split, step) IN (
    SELECT split, step FROM step_rollouts WHERE job_id IN (:one, :other) GROUP BY split, step HAVING count(*) = 2
) AND {condition}
ORDER BY step, split = 'held_out', prompt_no, sample_no LIMIT 1
"""
_FIRST_TEXT = text(
    _FIRST.format(
        join="FULL",
        condition="(one.prompt_hash, one.length, one.text)"
        " IS DISTINCT FROM (other.prompt_hash, other.length, other.text)",
    )
)
_FIRST_REWARD = text(
    _FIRST.format(
        join="",
        condition="(one.prompt_hash, one.text) = (other.prompt_hash, other.text)"
        " AND one.reward IS DISTINCT FROM other.reward",
    )
)
_SERIES = text("""
SELECT one.id AS one, other.id AS other, one.kind, one.key FROM metric_series AS one
JOIN metric_series AS other ON other.kind = one.kind AND other.key = one.key AND other.job_id = :other
WHERE one.job_id = :one
""")
_FIRST_POINT = text("""
SELECT one.series_id, one.step, one.value AS one_value, other.value AS other_value
FROM unnest(CAST(:ones AS int[]), CAST(:others AS int[])) AS pair (one_id, other_id)
JOIN metric_point AS one ON one.series_id = pair.one_id
JOIN metric_point AS other ON other.series_id = pair.other_id AND other.step = one.step
WHERE one.value IS DISTINCT FROM other.value
ORDER BY one.step, one.series_id LIMIT 1
""")


@dataclass(frozen=True)
class Place:
    split: Split
    step: int
    prompt_no: int


async def diverge(
    session: AsyncSession, cache: ObjectCache, project_id: str, ids: Sequence[str]
) -> Divergence:
    """Raises NotFound for an unknown job, InvalidInput `jobs_repeated`."""
    first, second = jobs = await jobs_of(session, project_id, ids)
    common = [(row.step, row.split) for row in await session.execute(_COMMON, _pair(jobs))]
    steps = sorted({step for step, _ in common})
    text_place = await _place(session, jobs, steps, _FIRST_TEXT)
    reward_place = await _place(session, jobs, steps, _FIRST_REWARD)
    machine = machine_differences(first.facts, second.facts) if first.facts and second.facts else {}
    settings = differences([job.resolved_spec for job in jobs])
    evaluated = [step for step, split in common if split == "held_out"]
    return Divergence(
        jobs=list(ids),
        steps=len(steps),
        first_step=steps[0] if steps else None,
        last_step=steps[-1] if steps else None,
        settings=[SettingDifference(path=path, values=values) for path, values in settings.items()],
        machine=machine,
        metric=await _metric(session, jobs),
        completion=await _row(session, cache, jobs, text_place) if text_place else None,
        reward=await _row(session, cache, jobs, reward_place, only_reward=True) if reward_place else None,
        effect=await _effect(session, jobs, max(evaluated)) if evaluated else None,
        notes=_notes(jobs, steps, machine),
    )


def _pair(jobs: Sequence[Job]) -> dict[str, str]:
    return {"one": jobs[0].id, "other": jobs[1].id}


async def _place(
    session: AsyncSession, jobs: Sequence[Job], steps: Sequence[int], query: TextClause
) -> Place | None:
    """First prompt at which the jobs differ."""
    for start in range(0, len(steps), STEPS_AT_ONCE):
        batch = steps[start : start + STEPS_AT_ONCE]
        bounds = {"first": batch[0], "last": batch[-1]}
        row = (await session.execute(query, _pair(jobs) | bounds)).first()
        if row is not None:
            return Place(row.split, row.step, row.prompt_no)
    return None


async def _row(
    session: AsyncSession, cache: ObjectCache, jobs: Sequence[Job], place: Place, *, only_reward: bool = False
) -> RowDifference | None:
    sides: list[Sequence[Row]] = []
    for job in jobs:
        rollouts = await session.get_one(StepRollouts, (job.id, place.split, place.step))
        async with cache.file(rollouts.sha256) as path:
            rows = await anyio.to_thread.run_sync(read_group, str(path), place.prompt_no, True)
        if only_reward:
            rows = [{name: value for name, value in row.items() if name not in _TOKENS_APART} for row in rows]
        sides.append(sorted(rows, key=lambda row: row["sample_no"]))
    return row_difference(place.step, place.split, *sides)


async def _metric(session: AsyncSession, jobs: Sequence[Job]) -> MetricDifference | None:
    series = [row for row in await session.execute(_SERIES, _pair(jobs)) if not is_measured(row.key)]
    ids = {"ones": [row.one for row in series], "others": [row.other for row in series]}
    point = (await session.execute(_FIRST_POINT, ids)).first()
    if point is None:
        return None
    [of] = [row for row in series if row.one == point.series_id]
    return MetricDifference(
        step=point.step, kind=of.kind, key=of.key, values=[point.one_value, point.other_value]
    )


async def _effect(session: AsyncSession, jobs: Sequence[Job], step: int) -> Effect:
    measured = await repository.held_out_rows(session, {job.id: step for job in jobs})
    first, second = (measured.get(job.id, repository.HeldOutRewards()) for job in jobs)
    datasets = await repository.held_out_datasets(session, [job.id for job in jobs])
    difference = await anyio.to_thread.run_sync(
        lambda: held_out.difference(
            first.rewards, second.rewards, same_dataset=len(set(datasets.values())) == 1
        )
    )
    return Effect(
        step=step,
        values=[first.mean, second.mean],
        difference=None if difference is None else HeldOutDifference.of(difference),
    )


def _notes(jobs: Sequence[Job], steps: Sequence[int], machine: dict[str, list[object]]) -> list[str]:
    notes = []
    if not steps:
        notes.append("The jobs share no step with stored completions.")
    if machine:
        notes.append(
            f"The jobs ran with different {', '.join(machine)}: their numbers may differ in the last bits without "
            "any other reason."
        )
    if any(job.facts.get("engine") == "vllm" for job in jobs):
        notes.append(
            "vLLM does not reproduce its results exactly, so the jobs may differ for that reason alone."
        )
    if jobs[0].resolved_spec.get("seed") != jobs[1].resolved_spec.get("seed"):
        notes.append(
            "The jobs have different seeds: for that reason alone they differ from their first step on."
        )
    return notes
