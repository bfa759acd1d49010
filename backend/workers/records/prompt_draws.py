"""Sums over a step's completions for each prompt, and the prompts' texts."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.bulk import insert_many
from backend.models import Job, JobPrompt, PromptDraw
from reinforge.records import CompletionSummary, PromptHead, Rollouts

_SUMS = ("prompt_no", "row_index", "prompt_hash", "completions", "scored", "passed", "reward_sum")
_HEAD = tuple(PromptHead.model_fields)
_LARGEST = 1e100


async def store(session: AsyncSession, job: Job, record: Rollouts) -> None:
    pass_above = float(job.resolved_spec["evaluation"].get("pass_above", 0.5))
    same = {"job_id": job.id, "split": record.split}
    sums = draws(record.rows, pass_above)
    await insert_many(session, PromptDraw, _SUMS, sums, same=same | {"step": record.step})
    heads = [head.model_dump() for head in record.prompts]
    await insert_many(session, JobPrompt, _HEAD, heads, same=same, skip_existing=True)


def draws(rows: Sequence[CompletionSummary], pass_above: float) -> list[dict[str, Any]]:
    sums: dict[int, dict[str, Any]] = {}
    for row in rows:
        draw = sums.get(row.prompt_no)
        if draw is None:
            draw = sums[row.prompt_no] = dict.fromkeys(_SUMS, 0) | {
                "prompt_no": row.prompt_no,
                "row_index": row.row_index,
                "prompt_hash": row.prompt_hash,
            }
        draw["completions"] += 1
        if row.reward is not None:
            draw["scored"] += 1
            draw["passed"] += row.reward > pass_above
            draw["reward_sum"] += row.reward
    for draw in sums.values():
        draw["reward_sum"] = min(max(draw["reward_sum"], -_LARGEST), _LARGEST)
    return list(sums.values())
