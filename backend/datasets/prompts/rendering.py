"""Renders rows as prompts, measures token lengths, and splits off held-out rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import anyio.to_thread

from backend.data.objects import Objects
from backend.datasets import service
from backend.datasets.leakage.compare import split_by_prompt
from backend.datasets.reading import MOST_CHARACTERS, RowPrompt, read_in_background, read_page, read_sample
from backend.models import BaseModel, Dataset
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedRendering
from reinforge.dataset import check_roles, split
from reinforge.errors import InvalidInput
from reinforge.schemas.datasets import (
    LengthBin,
    LengthsRequest,
    PromptView,
    RenderedPrompt,
    RenderedPrompts,
    RenderRequest,
    SplitView,
    TokenLengths,
)
from reinforge.schemas.rpc.base import dump
from reinforge.schemas.rpc.models import RENDER, RowTokens

CALL_ROWS = 2000
CALL_SECONDS = 20.0
MOST_BINS = 40
LISTED_HELD_OUT = 1000


async def render(
    calls: Calls, objects: Objects, cache: Path, dataset: Dataset, model: BaseModel, body: RenderRequest
) -> RenderedPrompts:
    rows: list[RowPrompt] = []
    check_view(dataset, body)
    if body.offset < dataset.rows:
        path = await service.local_file(objects, dataset, cache)
        page = (str(path), dataset.format, _view_json(body), body.offset, body.limit)
        rows = await read_in_background(dataset, read_page, *page)
    good = [row for row in rows if row.messages is not None]
    prompts: list[RowTokens] = []
    context = model.context_length
    if good:
        result = await calls.ask(RENDER, _request(model, good), timeout=CALL_SECONDS)
        prompts, context = result.prompts, result.context_length or context
    prompt_of = {row.index: prompt for row, prompt in zip(good, prompts, strict=True)}
    rendered = [
        RenderedPrompt(
            index=row.index,
            messages=row.messages or [],
            answer=row.answer,
            slice=row.slice,
            **(dump(prompt_of[row.index]) if row.index in prompt_of else {"error": row.error}),
        )
        for row in rows
    ]
    return RenderedPrompts(data=rendered, offset=body.offset, total=dataset.rows, context_length=context)


async def lengths(
    calls: Calls, objects: Objects, cache: Path, dataset: Dataset, model: BaseModel, body: LengthsRequest
) -> TokenLengths:
    check_view(dataset, body)
    path = await service.local_file(objects, dataset, cache)
    sample = (str(path), dataset.format, _view_json(body), dataset.rows, body.max_rows)
    rows = await read_in_background(dataset, read_sample, *sample)
    counted: list[tuple[int, int]] = []
    errors = [row.error for row in rows if row.error is not None]
    context = model.context_length
    for batch in _batches([row for row in rows if row.messages is not None]):
        result = await calls.ask(RENDER, _request(model, batch, texts=False), timeout=CALL_SECONDS)
        context = result.context_length or context
        for row, prompt in zip(batch, result.prompts, strict=True):
            if prompt.tokens is not None:
                counted.append((prompt.tokens, row.index))
            else:
                errors.append(str(prompt.error))
    if not counted:
        raise InvalidInput(
            f"No row can be rendered: {errors[0]}",
            code="prompt_not_renderable",
            hint="Say which columns hold the prompt, or give a template.",
        )
    return _summary(counted, dataset.rows, failed=len(errors), context=context)


async def split_view(
    objects: Objects,
    cache: Path,
    dataset: Dataset,
    held_out_rows: int | None,
    seed: int,
    split_by: Literal["row", "prompt"] = "row",
) -> SplitView:
    training, held_out = await divided(objects, cache, dataset, held_out_rows, seed, split_by)
    return SplitView(
        seed=seed,
        train=len(training),
        held_out=len(held_out),
        held_out_rows=held_out[:LISTED_HELD_OUT],
        note=service.nothing_held_out(dataset.rows, len(held_out), held_out_rows),
    )


async def divided(
    objects: Objects,
    cache: Path,
    dataset: Dataset,
    held_out_rows: int | None,
    seed: int,
    split_by: Literal["row", "prompt"],
    view: PromptView | None = None,
) -> tuple[list[int], list[int]]:
    try:
        if split_by == "row":
            return await anyio.to_thread.run_sync(split, dataset.rows, held_out_rows, seed)
        view = view or PromptView.model_validate(dataset.prompt_view)
        check_view(dataset, view)
        path = await service.local_file(objects, dataset, cache)
        arguments = (str(path), dataset.format, view.model_dump_json(), held_out_rows, seed)
        return await read_in_background(dataset, split_by_prompt, *arguments)
    except InvalidInput as error:
        error.param = "held_out_rows"
        raise


def check_view(dataset: Dataset, view: PromptView, *, complete: bool = True) -> None:
    try:
        check_roles([column["name"] for column in dataset.columns], view.columns, view.prompt_template)
    except InvalidInput as error:
        if error.code == "missing_prompt" and not complete:
            return
        error.param = (error.param or "columns").removeprefix("data.")
        raise


def bins(tokens: Sequence[int]) -> list[LengthBin]:
    """Histogram of lengths: at most `MOST_BINS` adjacent bins, each 1, 2 or 5 × 10ⁿ tokens wide."""
    shortest, longest = min(tokens), max(tokens)
    width = next(width for width in _widths() if longest // width - shortest // width < MOST_BINS)
    first = shortest // width
    counts = [0] * (longest // width - first + 1)
    for length in tokens:
        counts[length // width - first] += 1
    return [
        LengthBin(low=(first + place) * width, high=(first + place + 1) * width - 1, count=count)
        for place, count in enumerate(counts)
    ]


def _widths() -> Iterator[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def _summary(counted: list[tuple[int, int]], total: int, *, failed: int, context: int | None) -> TokenLengths:
    longest = max(counted, key=lambda pair: (pair[0], -pair[1]))
    tokens = sorted(length for length, _ in counted)
    return TokenLengths(
        counted=len(tokens),
        total=total,
        failed=failed,
        min=tokens[0],
        median=tokens[(len(tokens) - 1) // 2],
        p90=tokens[-(-9 * len(tokens) // 10) - 1],
        max=tokens[-1],
        longest_row=longest[1],
        bins=bins(tokens),
        context_length=context,
    )


def _batches(rows: list[RowPrompt]) -> Iterator[list[RowPrompt]]:
    batch: list[RowPrompt] = []
    characters = 0
    for row in rows:
        characters += row.characters
        if batch and (len(batch) == CALL_ROWS or characters > MOST_CHARACTERS):
            yield batch
            batch, characters = [], row.characters
        batch.append(row)
    if batch:
        yield batch


def _request(model: BaseModel, rows: Sequence[RowPrompt], *, texts: bool = True) -> QueuedRendering:
    return QueuedRendering(
        model_key=model.key,
        model_source=model.source,
        rows=[row.messages or [] for row in rows],
        tools=[row.tools for row in rows],
        tolerant=True,
        texts=texts,
    )


def _view_json(view: PromptView) -> str:
    return view.model_dump_json(include=set(PromptView.model_fields))
