"""Selects completions for a dataset: chosen by database rows, read from the steps' Parquet objects."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import anyio.to_thread
from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.monitoring.completions import read_group
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.jobs.monitoring.step_tables import readable, value_of
from backend.models import Completion, Job, StepRollouts
from reinforge.errors import InvalidInput
from reinforge.schemas.traces import TraceSelection

NAMES = ("completion", "completion_prompt", "completion_reward", "completion_step")

_CHOSEN = text("""
WITH matching AS (
    SELECT DISTINCT ON (prompt_hash, length, text) step, prompt_no, sample_no, prompt_hash, reward, length
    FROM completion
    WHERE job_id = :job AND split = :split AND step BETWEEN :first AND :last AND reward >= :least
        AND error IS NULL AND (:truncated OR finish_reason = 'stop')
    ORDER BY prompt_hash, length, text, reward DESC, step DESC, prompt_no, sample_no
), ranked AS (
    SELECT *, row_number() OVER (
        PARTITION BY prompt_hash ORDER BY reward DESC, step DESC, length, prompt_no, sample_no
    ) AS place
    FROM matching
)
SELECT step, prompt_no, sample_no, reward FROM (
    SELECT * FROM ranked WHERE place <= :per_prompt
    ORDER BY place, reward DESC, prompt_hash LIMIT :limit
) AS best ORDER BY step, prompt_no, sample_no
""")


@dataclass(frozen=True)
class Trace:
    step: int
    prompt_no: int
    sample_no: int
    reward: float


async def choose(session: AsyncSession, job: Job, selection: TraceSelection) -> list[Trace]:
    """Choose completions, ordered by step."""
    parameters = {
        "job": job.id,
        "split": selection.split,
        "first": selection.first_step,
        "last": 2**31 - 1 if selection.last_step is None else selection.last_step,
        "least": selection.min_reward,
        "truncated": selection.truncated,
        "per_prompt": selection.per_prompt,
        "limit": selection.limit,
    }
    chosen = [Trace(*row) for row in await session.execute(_CHOSEN, parameters)]
    if chosen:
        return chosen
    highest = await session.scalar(
        select(func.max(Completion.reward)).where(
            Completion.job_id == job.id, Completion.split == selection.split
        )
    )
    raise InvalidInput(
        f"No matching {selection.split.replace('_', '-')} completion reaches a reward of {selection.min_reward:g}.",
        code="no_traces",
        param="min_reward",
        hint="The job has no scored completions."
        if highest is None
        else f"The highest reward of the job is {highest:g}.",
    )


async def lines(
    session: AsyncSession, cache: ObjectCache, job: Job, chosen: Sequence[Trace], selection: TraceSelection
) -> AsyncIterator[bytes]:
    """JSON lines of the dataset, group by group."""
    for step, of_step in groupby(chosen, key=lambda trace: trace.step):
        rollouts = await session.get_one(StepRollouts, (job.id, selection.split, step))
        async with cache.file(rollouts.sha256) as path:
            for prompt_no, group in groupby(of_step, key=lambda trace: trace.prompt_no):
                stored = await anyio.to_thread.run_sync(read_group, str(path), prompt_no, False)
                row_by_sample = {row["sample_no"]: row for row in stored}
                with readable():
                    yield b"".join(_line(row_by_sample[trace.sample_no], trace) for trace in group)


def _line(stored: Mapping[str, Any], trace: Trace) -> bytes:
    """Adds `messages` if the row has no prompt."""
    row = value_of(stored.get("item"), "{}")
    messages = value_of(stored.get("prompt_messages"), "[]") or [
        {"role": "user", "content": stored["prompt"]}
    ]
    if not {"prompt", "messages"} & row.keys():
        row["messages"] = messages
    values = (stored["text"], messages, trace.reward, trace.step)
    row |= {_free(name, row): value for name, value in zip(NAMES, values, strict=True)}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _free(name: str, row: Mapping[str, Any]) -> str:
    """`name`, with the prefix `trace_` if the dataset row has a column of this name."""
    return f"trace_{name}" if name in row else name
