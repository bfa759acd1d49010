"""Reads completions: lists from database rows, details from the step's Parquet object."""

import json
from typing import Any, Literal

import anyio.to_thread
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.monitoring.object_cache import ObjectCache
from backend.jobs.monitoring.step_tables import opened, readable, row_group, value_of
from backend.models import Completion as Row
from backend.models import Job, StepRollouts
from reinforge.dataset import item_of
from reinforge.errors import NotFound
from reinforge.schemas.jobs import Completion, CompletionGroup, CompletionPage, CompletionRow

Sort = Literal["reward", "-reward", "length", "-length", "advantage", "-advantage"]
Split = Literal["train", "held_out"]
TOKEN_LISTS = ("token_ids", "tokens", "sampler_logprobs", "trainer_logprobs", "entropies", "mask")


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

    Without `sort`, a page has whole groups and may exceed `limit`; with it, single completions.
    """
    steps = list(
        await session.scalars(
            select(StepRollouts.step)
            .where(StepRollouts.job_id == job_id, StepRollouts.split == split)
            .order_by(StepRollouts.step)
        )
    )
    selected_step = step if step is not None else (steps[-1] if steps else None)
    if selected_step not in steps:
        return CompletionPage(data=[], total=0, step=selected_step, steps=steps)
    step_rows = select(Row).where(Row.job_id == job_id, Row.split == split, Row.step == selected_step)
    if prompt_no is not None:
        step_rows = step_rows.where(Row.prompt_no == prompt_no)
    total = await session.scalar(select(func.count()).select_from(step_rows.subquery())) or 0
    rows = list(await session.scalars(step_rows.order_by(*_order(sort)).limit(limit).offset(offset)))
    if rows and sort is None:
        last = rows[-1]
        rest_of_group = step_rows.where(Row.prompt_no == last.prompt_no, Row.sample_no > last.sample_no)
        rows += await session.scalars(rest_of_group.order_by(Row.sample_no))
    data = [CompletionRow.model_validate(row) for row in rows]
    has_more = offset + len(rows) < total
    return CompletionPage(data=data, has_more=has_more, total=total, step=selected_step, steps=steps)


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
    job: Job,
    *,
    split: Split,
    step: int,
    prompt_no: int,
    sample_no: int,
) -> Completion:
    row = await session.get(Row, (job.id, split, step, prompt_no, sample_no))
    rollouts = await session.get(StepRollouts, (job.id, split, step))
    if row is None or rollouts is None:
        raise NotFound(
            f"Step {step} has no {split} completion {sample_no} of prompt {prompt_no}.",
            code="completion_not_found",
        )
    stored = await _read(cache, rollouts, prompt_no, {sample_no})
    return _join(job, row, stored[sample_no])


async def group(
    session: AsyncSession, cache: ObjectCache, job: Job, *, split: Split, step: int, prompt_no: int
) -> CompletionGroup:
    split_rows = (Row.job_id == job.id, Row.split == split)
    query = (
        select(Row).where(*split_rows, Row.step == step, Row.prompt_no == prompt_no).order_by(Row.sample_no)
    )
    rows = list(await session.scalars(query))
    rollouts = await session.get(StepRollouts, (job.id, split, step))
    if not rows or rollouts is None:
        raise NotFound(f"Step {step} has no {split} group {prompt_no}.", code="group_not_found")
    first = rows[0]
    same = (
        select(Row.step)
        .where(*split_rows, Row.prompt_hash == first.prompt_hash)
        .distinct()
        .order_by(Row.step)
    )
    stored = await _read(cache, rollouts, prompt_no, {row.sample_no for row in rows}, tokens=False)
    completions = [_join(job, row, stored[row.sample_no]) for row in rows]
    example = completions[0]
    return CompletionGroup(
        step=step,
        split=split,
        prompt_no=prompt_no,
        prompt_hash=example.prompt_hash,
        row_index=example.row_index,
        prompt=example.prompt,
        prompt_messages=example.prompt_messages,
        item=example.item,
        answer=_answer(example.item, job.resolved_spec["data"]["columns"].get("answer")),
        completions=completions,
        steps=list(await session.scalars(same)),
    )


def _answer(item: dict[str, Any], column: str | None) -> str | None:
    value = item.get(column or "answer")
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def _read(
    cache: ObjectCache, rollouts: StepRollouts, prompt_no: int, sample_nos: set[int], *, tokens: bool = True
) -> dict[int, dict[str, Any]]:
    async with cache.file(rollouts.sha256) as path:
        rows = await anyio.to_thread.run_sync(read_group, str(path), prompt_no, tokens)
    row_by_sample = {row["sample_no"]: row for row in rows if row["sample_no"] in sample_nos}
    if missing := sample_nos - row_by_sample.keys():
        raise NotFound(
            f"The step's file has no completion {min(missing)} of prompt {prompt_no}.",
            code="completion_not_found",
        )
    return row_by_sample


def read_group(path: str, prompt_no: int, tokens: bool) -> list[dict[str, Any]]:
    with opened(path) as file:
        names = [name for name in file.schema_arrow.names if tokens or name not in TOKEN_LISTS]
        if not tokens and "branches" in names:
            names.remove("branches")
            parts = file.schema_arrow.field("branches").type.value_type
            names += [f"branches.list.element.{part.name}" for part in parts if part.name not in TOKEN_LISTS]
        group_rows: list[dict[str, Any]] = []
        for number in range(file.num_row_groups):
            if _may_hold(file.metadata.row_group(number), prompt_no):
                group_rows += [row for row in row_group(file, number, names) if row["prompt_no"] == prompt_no]
        return group_rows


def _may_hold(row_group: Any, prompt_no: int) -> bool:
    for number in range(row_group.num_columns):
        column = row_group.column(number)
        if column.path_in_schema == "prompt_no":
            statistics = column.statistics
            return (
                statistics is None
                or not statistics.has_min_max
                or statistics.min <= prompt_no <= statistics.max
            )
    return True


def _join(job: Job, row: Row, stored: dict[str, Any]) -> Completion:
    with readable():
        details = _details(stored, job.resolved_spec["data"]["columns"])
        return Completion.model_validate(CompletionRow.model_validate(row).model_dump() | details)


def _details(stored: dict[str, Any], roles: dict[str, Any]) -> dict[str, Any]:
    return {
        "text": stored["text"],
        "prompt": stored["prompt"],
        "prompt_messages": value_of(stored.get("prompt_messages"), "[]"),
        "item": item_of(value_of(stored.get("item"), "{}"), roles),
        "rewards": value_of(stored.get("rewards"), "[]"),
        "branch": stored.get("branch"),
        "branches": [
            {name: branch[name] for name in ("branch", "reason", "share", "text")}
            | {"prompt_messages": value_of(branch["prompt_messages"], "[]")}
            | _turns(branch)
            for branch in stored.get("branches") or ()
        ],
        **_turns(stored),
    }


def _turns(stored: dict[str, Any]) -> dict[str, Any]:
    return {
        "conversation": value_of(stored.get("turns"), "[]"),
        "messages": value_of(stored.get("messages"), "[]"),
        **{name: stored.get(name) or [] for name in TOKEN_LISTS},
    }
