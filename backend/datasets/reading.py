"""Reading a dataset's rows for people who look at it: where it happens, and how much of it is held at once.

The functions that read run outside the event loop, large files in a process of their own, so that other requests
go on; what they take and give travels between processes.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
import orjson
from anyio.lowlevel import RunVar

from backend.access.work_slots import Turns
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
"""Of prompts in one question to a worker, and on one page."""
SAMPLE_CHARACTERS = 16_000_000
"""Of all prompts of a sample; with longer ones it has fewer rows."""
ANSWER_BYTES = 4 * 1024 * 1024
"""Of rows in one answer. Handing on more of them holds up everybody's requests."""
AT_ONCE = 3
"""Datasets that are read side by side, by all projects; one project has two of these places at most."""
WAITING = 32
"""Of one project, until it is their turn."""
_ANSWER_CHARACTERS = 20_000
_SLICE_CHARACTERS = 200
_SMALL_FILE_BYTES = 4 * 1024 * 1024
_READ_SECONDS = 120.0

T = TypeVar("T")

_turns: RunVar[Turns] = RunVar("turns at reading datasets")


@dataclass(frozen=True, slots=True)
class RowPrompt:
    """What one row becomes. `messages` is None when it cannot become a prompt; then `error` says why."""

    index: int
    messages: list[Message] | None
    error: str | None
    answer: str | None
    slice: str | None
    tools: list[Tool] | None = None

    @property
    def characters(self) -> int:
        return prompt_characters(self.messages or (), self.tools)


def turns() -> Turns:
    """At reading datasets, in this process and in children."""
    turns = _turns.get(None)
    if turns is None:
        _turns.set(turns := Turns(AT_ONCE, WAITING))
    return turns


async def read_apart(dataset: Dataset, read: Callable[..., T], *arguments: Any) -> T:
    """`read(*arguments)`, in a thread for a small file, else in a process with a limit of memory.

    Parquet is never small: some hundred bytes of it may be rows of gigabytes. Raises Unavailable `call_timeout`,
    TooLarge `file_too_complex`, TooManyRequests.
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
            "Reading the dataset takes too long.", code="call_timeout", hint="Try again in a moment."
        ) from error


def read_rows_json(path: str, format: Format, offset: int, limit: int) -> list[bytes]:
    """Consecutive rows as JSON. The first one is always among them; the others are while they fit ANSWER_BYTES."""
    rows: list[bytes] = []
    size = 0
    for row in islice(iter_rows(Path(path), format), offset, offset + limit):
        text = orjson.dumps(row)
        size += len(text)
        if rows and size > ANSWER_BYTES:
            break
        rows.append(text)
    return rows


def read_page(path: str, format: Format, view: str, offset: int, limit: int) -> list[RowPrompt]:
    """Consecutive rows. Past `MOST_CHARACTERS` prompts are left out, and their rows say so."""
    found, left = [], MOST_CHARACTERS
    for row in _prompts(path, format, view, range(offset, offset + limit)):
        left -= row.characters
        if left < 0 and row.messages is not None:
            why = "This prompt is too long to be shown beside the others. Ask for fewer rows at once."
            if row.characters > MOST_CHARACTERS:
                why = f"This prompt has {row.characters:,} characters; at most {MOST_CHARACTERS:,} are rendered."
            row = RowPrompt(row.index, None, why, row.answer, row.slice)
        found.append(row)
    return found


def read_sample(path: str, format: Format, view: str, rows: int, wanted: int) -> list[RowPrompt]:
    """At most `wanted` of the file's `rows`, evenly spread.

    When their prompts come to more than `SAMPLE_CHARACTERS`, every second one is let go, so that what is left is
    spread evenly, too.
    """
    count = min(wanted, rows)
    chosen = [place * rows // count for place in range(count)]
    kept: list[RowPrompt] = []
    stride, characters = 1, 0
    for place, row in enumerate(_prompts(path, format, view, chosen)):
        if place % stride:
            continue
        kept.append(row)
        characters += row.characters
        while characters > SAMPLE_CHARACTERS and len(kept) > 1:
            kept, stride = kept[::2], stride * 2
            characters = sum(each.characters for each in kept)
    return kept


def _prompts(path: str, format: Format, view: str, indexes: range | list[int]) -> Iterator[RowPrompt]:
    """The rows of these numbers, which ascend."""
    how = PromptView.model_validate_json(view)
    template = PromptTemplate.parse(how.prompt_template) if how.prompt_template else None
    wanted = iter(indexes)
    following = next(wanted, None)
    for index, row in enumerate(iter_rows(Path(path), format)):
        if following is None:
            return
        if index == following:
            yield _prompt(index, row, how, template)
            following = next(wanted, None)


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
