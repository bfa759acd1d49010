"""Completions: lists from their narrow rows; one completion in full from the step's Parquet object."""

import json
from typing import Any, Literal

import anyio.to_thread
import pyarrow.parquet as parquet
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.object_cache import ObjectCache
from backend.models import Completion as Row
from backend.models import StepRollouts
from reinforge.errors import NotFound
from reinforge.schemas.jobs import Completion, CompletionPage, CompletionRow

Sort = Literal["reward", "-reward", "length", "-length", "advantage", "-advantage"]
Split = Literal["train", "held_out"]


async def list_rows(
    session: AsyncSession,
    job_id: str,
    *,
    split: Split,
    step: int | None,
    prompt_no: int | None,
    sort: Sort | None,
    limit: int,
    offset: int,
) -> CompletionPage:
    """Completions of one step, the newest by default.

    Without `sort` they come by prompt, always in whole groups, so a page may hold more than `limit`; with it
    they come one by one (`-`: descending; without a value last). `offset` and `total` count completions.
    """
    steps = list(
        await session.scalars(
            select(StepRollouts.step)
            .where(StepRollouts.job_id == job_id, StepRollouts.split == split)
            .order_by(StepRollouts.step)
        )
    )
    shown = step if step is not None else (steps[-1] if steps else None)
    if shown not in steps:
        return CompletionPage(data=[], total=0, step=shown, steps=steps)
    mine = select(Row).where(Row.job_id == job_id, Row.split == split, Row.step == shown)
    if prompt_no is not None:
        mine = mine.where(Row.prompt_no == prompt_no)
    total = await session.scalar(select(func.count()).select_from(mine.subquery())) or 0
    rows = list(await session.scalars(mine.order_by(*_order(sort)).limit(limit).offset(offset)))
    if rows and sort is None:
        last = rows[-1]
        rest = mine.where(Row.prompt_no == last.prompt_no, Row.sample_no > last.sample_no)
        rows += await session.scalars(rest.order_by(Row.sample_no))
    data = [CompletionRow.model_validate(row) for row in rows]
    has_more = offset + len(rows) < total
    return CompletionPage(data=data, has_more=has_more, total=total, step=shown, steps=steps)


def _order(sort: Sort | None) -> list[ColumnElement[Any]]:
    by_prompt: list[ColumnElement[Any]] = [Row.prompt_no.asc(), Row.sample_no.asc()]
    if sort is None:
        return by_prompt
    columns = {"reward": Row.reward, "length": Row.length, "advantage": Row.advantage}
    column = columns[sort.removeprefix("-")]
    ordered = column.desc() if sort.startswith("-") else column.asc()
    return [ordered.nulls_last(), *by_prompt]


async def full(
    session: AsyncSession,
    cache: ObjectCache,
    job_id: str,
    *,
    split: Split,
    step: int,
    prompt_no: int,
    sample_no: int,
) -> Completion:
    """Everything known about one completion. Raises NotFound."""
    row = await session.get(Row, (job_id, split, step, prompt_no, sample_no))
    rollouts = await session.get(StepRollouts, (job_id, split, step))
    if row is None or rollouts is None:
        raise NotFound(
            f"Step {step} has no {split} completion {sample_no} of prompt {prompt_no}.",
            code="completion_not_found",
        )
    async with cache.file(rollouts.sha256) as path:
        stored = await anyio.to_thread.run_sync(_read_row, str(path), prompt_no, sample_no)
    return Completion.model_validate(CompletionRow.model_validate(row).model_dump() | _details(stored))


def _read_row(path: str, prompt_no: int, sample_no: int) -> dict[str, Any]:
    """Row group `prompt_no` holds the prompt's group; files with another layout are searched."""
    with parquet.ParquetFile(path) as file:
        groups = list(range(file.num_row_groups))
        guess = [group for group in groups if group == prompt_no]
        for group in guess + [group for group in groups if group != prompt_no]:
            for row in file.read_row_group(group).to_pylist():
                if row["prompt_no"] == prompt_no and row["sample_no"] == sample_no:
                    found: dict[str, Any] = row
                    return found
    raise NotFound(f"The step's file has no completion {sample_no} of prompt {prompt_no}.")


def _details(stored: dict[str, Any]) -> dict[str, Any]:
    """The Parquet row as fields of `Completion`; `None` lists (an engine without entropies) become empty."""
    lists = ("token_ids", "tokens", "sampler_logprobs", "entropies")
    return {
        "text": stored["text"],
        "prompt": stored["prompt"],
        "prompt_messages": json.loads(stored.get("prompt_messages") or "[]"),
        "item": json.loads(stored.get("item") or "{}"),
        "rewards": json.loads(stored.get("rewards") or "[]"),
        **{name: stored.get(name) or [] for name in lists},
    }
