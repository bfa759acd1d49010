"""Queries about the prompts of a job."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Row, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import JobPrompt, PromptDraw
from reinforge.schemas.job_prompts import PromptCategory

Sort = Literal[
    "row", "-row", "pass_share", "-pass_share", "last", "-last", "change", "-change", "variance", "-variance",
    "draws", "-draws",
]  # fmt: skip

_KEYS = {
    "row": "prompts.row_index",
    "pass_share": "pass_share",
    "last": "last_reward",
    "change": "last_reward - first_reward",
    "variance": "variance",
    "draws": "draws",
}

_PROMPTS = """
WITH sums AS (
    SELECT row_index, count(*) AS draws, sum(completions)::bigint AS completions, sum(scored)::bigint AS scored,
        sum(passed)::bigint AS passed, var_pop(reward_sum / nullif(scored, 0)) AS variance,
        max(passed::float8 / nullif(scored, 0)) AS best_share,
        array_agg(passed::float8 / scored ORDER BY step, prompt_no) FILTER (WHERE scored > 0) AS shares,
        array_agg(reward_sum / scored ORDER BY step, prompt_no) FILTER (WHERE scored > 0) AS rewards
    FROM (SELECT * FROM prompt_draw WHERE job_id = :job AND split = :split) AS draw
    GROUP BY row_index
), counted AS (
    SELECT *, coalesce(cardinality(shares), 0) AS n FROM sums
), compared AS (
    SELECT *, passed::float8 / nullif(scored, 0) AS pass_share, shares[1] AS first_pass_share,
        shares[n] AS last_pass_share, rewards[1] AS first_reward, rewards[n] AS last_reward,
        CASE
            WHEN n = 0 THEN NULL
            WHEN passed = 0 THEN 'never_solved'
            WHEN n = 1 THEN NULL
            WHEN best_share >= 0.5 AND shares[n] = 0 AND (n < 4 OR shares[n - 1] = 0) THEN 'newly_lost'
            WHEN shares[1] = 0 AND shares[n] >= 0.5 AND (n < 4 OR shares[n - 1] >= 0.5) THEN 'won'
        END AS plain_category
    FROM counted
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY varies ORDER BY variance DESC, row_index) AS place,
        count(*) OVER (PARTITION BY varies) AS many
    FROM (SELECT *, plain_category IS NULL AND n >= 3 AND variance > 1e-12 AS varies FROM compared) AS compared
), prompts AS MATERIALIZED (
    SELECT row_index, draws, completions, scored, pass_share, first_pass_share, last_pass_share, first_reward,
        last_reward, variance,
        CASE WHEN varies AND place <= ceil(many * 0.1) THEN 'most_variable' ELSE plain_category END AS category
    FROM ranked
), matches AS (
    SELECT prompts.*, coalesce(({key})::float8, '{nothing}') AS key
    FROM prompts {texts}
    WHERE (CAST(:category AS text) IS NULL OR category = :category) {words}
)
SELECT overview.*, page.*
FROM (
    SELECT (SELECT count(*) FROM matches) AS total,
        (SELECT json_object_agg(coalesce(category, ''), many)
            FROM (SELECT category, count(*) AS many FROM prompts GROUP BY category) AS counts) AS categories
) AS overview
LEFT JOIN (
    SELECT * FROM matches {beyond} ORDER BY key {order}, row_index LIMIT :limit
) AS page ON true
ORDER BY page.key {order}, page.row_index
"""
_TEXTS = "JOIN job_prompt ON job_id = :job AND split = :split AND job_prompt.row_index = prompts.row_index"
_WORDS = "AND strpos(lower(prompt), lower(:q)) > 0"
_BEYOND = "WHERE key {sign} :key OR key = :key AND row_index > :row"


@dataclass(frozen=True, kw_only=True)
class PromptFilter:
    split: str
    category: PromptCategory | None = None
    q: str | None = None
    sort: Sort = "row"


@dataclass(frozen=True)
class PromptSums:
    rows: Sequence[Row[Any]]
    total: int
    categories: dict[str, int]


async def sums(
    session: AsyncSession, job_id: str, chosen: PromptFilter, *, limit: int, after: tuple[float, int] | None
) -> PromptSums:
    values: dict[str, Any] = {"job": job_id, "split": chosen.split, "category": chosen.category}
    values |= {"limit": limit}
    if chosen.q:
        values["q"] = chosen.q
    if after is not None:
        values |= {"key": after[0], "row": after[1]}
    rows = (await session.execute(text(statement(chosen, after)), values)).all()
    page = [row for row in rows if row.row_index is not None]
    return PromptSums(page, rows[0].total, rows[0].categories or {})


def statement(chosen: PromptFilter, after: tuple[float, int] | None = None) -> str:
    falls = chosen.sort.startswith("-")
    return _PROMPTS.format(
        key=_KEYS[chosen.sort.removeprefix("-")],
        nothing="-Infinity" if falls else "Infinity",
        texts=_TEXTS if chosen.q else "",
        words=_WORDS if chosen.q else "",
        beyond="" if after is None else _BEYOND.format(sign="<" if falls else ">"),
        order="DESC" if falls else "ASC",
    )


def key_of(row: Row[Any]) -> float | None:
    return None if math.isinf(row.key) else float(row.key)


async def draws(
    session: AsyncSession, job_id: str, split: str, rows: Collection[int]
) -> Sequence[Row[int, int, int, str, int, float]]:
    """(row_index, step, prompt_no, prompt_hash, scored, reward_sum) of the draws, by row and step."""
    query = select(
        PromptDraw.row_index,
        PromptDraw.step,
        PromptDraw.prompt_no,
        PromptDraw.prompt_hash,
        PromptDraw.scored,
        PromptDraw.reward_sum,
    ).where(PromptDraw.job_id == job_id, PromptDraw.split == split, PromptDraw.row_index.in_(rows))
    return (
        await session.execute(query.order_by(PromptDraw.row_index, PromptDraw.step, PromptDraw.prompt_no))
    ).all()


async def texts(
    session: AsyncSession, job_id: str, rows: Collection[tuple[str, int]]
) -> Mapping[tuple[str, int], tuple[str, str | None]]:
    """Beginnings of prompt and answer, by (split, row_index)."""
    if not rows:
        return {}
    query = select(JobPrompt.split, JobPrompt.row_index, JobPrompt.prompt, JobPrompt.answer).where(
        JobPrompt.job_id == job_id, tuple_(JobPrompt.split, JobPrompt.row_index).in_(rows)
    )
    return {(row.split, row.row_index): (row.prompt, row.answer) for row in await session.execute(query)}
