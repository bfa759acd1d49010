"""Reads dataset rows with bounded memory, outside the event loop. Its read functions are picklable."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
import orjson
from anyio.lowlevel import RunVar

from backend.access.work_slots import FairSlots
from backend.datasets.uploads.inspection_child import needs_too_much
from backend.models import Dataset
from backend.processes.pool import ChildDied, children
from reinforge.dataset import (
    DatasetError,
    Format,
    Message,
    PromptTemplate,
    Tool,
    iter_rows,
    prompt_characters,
    render_messages,
    row_tools,
)
from reinforge.errors import Unavailable
from reinforge.schemas.datasets import PromptView

MOST_CHARACTERS = 4_000_000
SAMPLE_CHARACTERS = 16_000_000
ANSWER_BYTES = 4 * 1024 * 1024
"""Maximum bytes of a response; a larger one would block other requests."""
AT_ONCE = 3
WAITING = 32
_ANSWER_CHARACTERS = 20_000
_SLICE_CHARACTERS = 200
_SMALL_FILE_BYTES = 4 * 1024 * 1024
_READ_SECONDS = 120.0

T = TypeVar("T")

_turns: RunVar[FairSlots] = RunVar("turns at reading datasets")


@dataclass(frozen=True, slots=True)
class RowPrompt:
    index: int
    messages: list[Message] | None
    error: str | None
    answer: str | None
    slice: str | None
    tools: list[Tool] | None = None

    @property
    def characters(self) -> int:
        return prompt_characters(self.messages or (), self.tools)


def turns() -> FairSlots:
    turns = _turns.get(None)
    if turns is None:
        _turns.set(turns := FairSlots(AT_ONCE, WAITING))
    return turns


async def read_in_background(dataset: Dataset, read: Callable[..., T], *arguments: Any) -> T:
    """Run `read` in a thread for a small file, otherwise in a child process with limited memory: a few
    hundred bytes of Parquet may decode to gigabytes.
    """
    async with turns().turn(dataset.project_id):
        if dataset.bytes <= _SMALL_FILE_BYTES and dataset.format != "parquet":
            return await anyio.to_thread.run_sync(read, *arguments)
        return await read_in_process(read, *arguments)


async def read_in_process(read: Callable[..., T], *arguments: Any) -> T:
    try:
        async with asyncio.timeout(_READ_SECONDS):
            return await children("datasets").ask(read, *arguments)
    except (MemoryError, ChildDied) as error:
        raise needs_too_much() from error
    except TimeoutError as error:
        raise Unavailable(
            f"Reading the dataset takes more than {_READ_SECONDS:.0f} s.",
            code="call_timeout",
            hint="Try again in a moment.",
        ) from error


def read_rows_json(
    path: str, format: Format, offset: int, limit: int, numbers: Sequence[str] = ()
) -> list[bytes]:
    rows: list[bytes] = []
    size = 0
    for row in islice(iter_rows(Path(path), format, numbers=numbers), offset, offset + limit):
        text = orjson.dumps(row)
        size += len(text)
        if rows and size > ANSWER_BYTES:
            break
        rows.append(text)
    return rows


def read_page(path: str, format: Format, view: str, offset: int, limit: int) -> list[RowPrompt]:
    prompts, remaining = [], MOST_CHARACTERS
    for row in _prompts(path, format, view, range(offset, offset + limit)):
        remaining -= row.characters
        if remaining < 0 and row.messages is not None:
            why = "This prompt and the rows before it are too long for one response. Request fewer rows."
            if row.characters > MOST_CHARACTERS:
                why = f"This prompt has {row.characters:,} characters; at most {MOST_CHARACTERS:,} are rendered."
            row = RowPrompt(row.index, None, why, row.answer, row.slice)
        prompts.append(row)
    return prompts


def read_sample(path: str, format: Format, view: str, rows: int, count: int) -> list[RowPrompt]:
    size = min(count, rows)
    chosen = [place * rows // size for place in range(size)]
    sample: list[RowPrompt] = []
    stride, characters = 1, 0
    for place, row in enumerate(_prompts(path, format, view, chosen)):
        if place % stride:
            continue
        sample.append(row)
        characters += row.characters
        while characters > SAMPLE_CHARACTERS and len(sample) > 1:
            sample, stride = sample[::2], stride * 2
            characters = sum(prompt.characters for prompt in sample)
    return sample


def _prompts(path: str, format: Format, view: str, indexes: range | list[int]) -> Iterator[RowPrompt]:
    how = PromptView.model_validate_json(view)
    template = PromptTemplate.parse(how.prompt_template) if how.prompt_template else None
    remaining = iter(indexes)
    following = next(remaining, None)
    for index, row in enumerate(iter_rows(Path(path), format)):
        if following is None:
            return
        if index == following:
            yield _prompt(index, row, how, template)
            following = next(remaining, None)


def _prompt(index: int, row: dict[str, Any], how: PromptView, template: PromptTemplate | None) -> RowPrompt:
    columns = how.columns
    answer = _text(row.get(columns.answer), _ANSWER_CHARACTERS) if columns.answer else None
    slice = _text(row.get(columns.slice), _SLICE_CHARACTERS) if columns.slice else None
    try:
        messages = render_messages(row, how.columns, template, how.system_prompt)
        tools = row_tools(row)
    except DatasetError as error:
        return RowPrompt(index, None, " ".join(filter(None, (error.message, error.hint))), answer, slice)
    return RowPrompt(index, messages, None, answer, slice, tools)


def _text(value: Any, most: int) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"
