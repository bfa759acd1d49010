"""Lists the groups of a step."""

from typing import Any

import anyio.to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.monitoring.completions import Split
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.jobs.monitoring.step_tables import opened, row_group, value_of
from backend.models import Completion as Row
from backend.models import StepRollouts
from reinforge.schemas.jobs import GroupHead, GroupList

HEAD = 300


async def heads(
    session: AsyncSession, cache: ObjectCache, job_id: str, *, split: Split, step: int | None
) -> GroupList:
    rollouts = await session.execute(
        select(StepRollouts.step, StepRollouts.sha256)
        .where(StepRollouts.job_id == job_id, StepRollouts.split == split)
        .order_by(StepRollouts.step)
    )
    tables = {rollout.step: rollout.sha256 for rollout in rollouts}
    steps = list(tables)
    selected_step = step if step is not None else (steps[-1] if steps else None)
    if selected_step is None or selected_step not in tables:
        return GroupList(step=selected_step, steps=steps, data=[])
    head = (Row.prompt_no, Row.prompt_hash, Row.row_index)
    rows = await session.execute(
        select(*head, Row.reward, Row.error, Row.finish_reason, Row.length)
        .where(Row.job_id == job_id, Row.split == split, Row.step == selected_step)
        .order_by(Row.prompt_no, Row.sample_no)
    )
    async with cache.file(tables[selected_step]) as path:
        prompts = await anyio.to_thread.run_sync(_prompts, str(path))
    data: list[GroupHead] = []
    for row in rows:
        if not data or data[-1].prompt_no != row.prompt_no:
            data.append(
                GroupHead(
                    prompt_no=row.prompt_no,
                    prompt_hash=row.prompt_hash,
                    row_index=row.row_index,
                    prompt=prompts.get(row.prompt_no, ""),
                )
            )
        group = data[-1]
        group.rewards.append(row.reward)
        group.tokens += row.length
        group.failed += row.error is not None
        group.truncated += row.finish_reason == "length"
    return GroupList(step=selected_step, steps=steps, data=data)


def _prompts(path: str) -> dict[int, str]:
    prompts: dict[int, str] = {}
    with opened(path) as file:
        for group in range(file.num_row_groups):
            for row in row_group(file, group, ["prompt_no", "prompt", "prompt_messages"])[:1]:
                prompts[row["prompt_no"]] = prompt_text(row)[:HEAD]
    return prompts


def prompt_text(row: dict[str, Any]) -> str:
    messages = value_of(row.get("prompt_messages"), "[]")
    content = messages[-1].get("content") if messages else None
    return content if isinstance(content, str) and content else str(row["prompt"])
