"""Held-out completions of a step: numbers from the database, details from the step's Parquet object, if it
can be read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import anyio.to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.monitoring.groups import prompt_text
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.jobs.monitoring.step_tables import opened, row_group, value_of
from backend.models import Completion, StepRollouts
from reinforge.dataset import item_of
from reinforge.dataset.prompt_head import ANSWER_CHARACTERS, PROMPT_CHARACTERS, answer_head
from reinforge.errors import ReinforgeError
from reinforge.evaluation import final_answer
from reinforge.report_card.samples import CardSample, repetition

MOST_SAMPLES = 10_000
_NUMBERS = (
    "row_index",
    "prompt_hash",
    "prompt_no",
    "sample_no",
    "reward",
    "length",
    "finish_reason",
    "error",
)
_DETAILS = [
    "prompt_no",
    "sample_no",
    "text",
    "item",
    "prompt",
    "prompt_messages",
    "rewards",
    "sampler_logprobs",
]
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class SampleColumns:
    roles: Mapping[str, Any]
    slice: str | None


@dataclass(slots=True)
class StepSamples:
    samples: list[CardSample]
    cut: bool = False
    readable: bool = True


async def evaluation_steps(session: AsyncSession, job_id: str) -> list[int]:
    query = select(StepRollouts.step).where(StepRollouts.job_id == job_id, StepRollouts.split == "held_out")
    return sorted(await session.scalars(query))


async def read(
    session: AsyncSession, cache: ObjectCache, job_id: str, step: int, columns: SampleColumns
) -> StepSamples:
    place = (Completion.job_id == job_id, Completion.split == "held_out", Completion.step == step)
    query = select(*(getattr(Completion, name) for name in _NUMBERS), Completion.text).where(*place)
    query = query.order_by(Completion.prompt_no, Completion.sample_no).limit(MOST_SAMPLES + 1)
    samples: dict[tuple[int, int], CardSample] = {}
    for row in await session.execute(query):
        samples[row.prompt_no, row.sample_no] = CardSample(
            row=row.row_index,
            prompt_hash=row.prompt_hash,
            sample=row.sample_no,
            reward=row.reward,
            tokens=row.length,
            finish_reason=row.finish_reason,
            error=row.error,
            text=row.text,
        )
    result = StepSamples([])
    if len(samples) > MOST_SAMPLES:
        samples.popitem()
        result.cut = True
    rollouts = await session.get(StepRollouts, (job_id, "held_out", step))
    if rollouts is not None:
        try:
            async with cache.file(rollouts.sha256) as path:
                await anyio.to_thread.run_sync(_add_details, str(path), samples, columns)
        except ReinforgeError:
            result.readable = False
    result.samples = list(samples.values())
    return result


def _add_details(path: str, samples: dict[tuple[int, int], CardSample], columns: SampleColumns) -> None:
    with opened(path) as file:
        names = [name for name in _DETAILS if name in file.schema_arrow.names]
        for number in range(file.num_row_groups):
            for line in row_group(file, number, names):
                sample = samples.get((line["prompt_no"], line["sample_no"]))
                if sample is not None:
                    _add(sample, line, columns)


def _add(sample: CardSample, line: dict[str, Any], columns: SampleColumns) -> None:
    item = item_of(value_of(line.get("item"), "{}"), columns.roles)
    text = line["text"]
    sample.prompt = prompt_text(line)[:PROMPT_CHARACTERS]
    sample.digits, sample.repetition = len(_DIGIT.findall(text)), repetition(text)
    if columns.roles.get("answer"):
        sample.answer = (answer_head(item) or "")[:ANSWER_CHARACTERS] or None
        reference = final_answer.reference(item.get("answer"))
        sample.right = None if reference is None else final_answer.is_right(text, reference)
    if columns.slice is not None and item.get(columns.slice) is not None:
        sample.slice = str(item[columns.slice])[:100]
    if logprobs := line.get("sampler_logprobs"):
        sample.surprisal = -fmean(logprobs)
    results = value_of(line.get("rewards"), "[]")
    sample.parts = parts_of(results)
    times = [float(result["wall_ms"]) for result in results if result.get("wall_ms")]
    sample.score_ms = sum(times) if times else None


def parts_of(results: list[dict[str, Any]]) -> dict[str, float]:
    parts: dict[str, float] = {}
    for result in results:
        if result.get("status") == "ok" and result.get("value") is not None:
            parts[result["name"]] = float(result["value"])
        for part, value in (result.get("parts") or {}).items():
            parts[f"{result['name']}/part/{part}"] = float(value)
    return parts
