"""Queries for prompts that compared jobs share."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncSession

PromptSort = Literal["difference", "-difference", "reward", "-reward"]

# The draw of each prompt: of the evaluation, or in training the newest. `steps` has an element per job, or is null.
_DRAWS = """
WITH chosen AS MATERIALIZED (
    SELECT DISTINCT ON (job_id, prompt_hash) job_id, prompt_hash, step, prompt_no, row_index, completions, scored,
        reward_sum / nullif(scored, 0) AS reward
    FROM prompt_draw JOIN unnest(CAST(:jobs AS text[]), CAST(:steps AS bigint[])) AS compared (job, at)
        ON job_id = compared.job AND (compared.at IS NULL OR step = compared.at)
    WHERE split = :split {where}
    ORDER BY job_id, prompt_hash, step DESC, prompt_no
)
"""

_PAGE = """
, prompts AS MATERIALIZED (
    SELECT prompt_hash, count(*) AS jobs, avg(reward) AS mean, max(reward) - min(reward) AS difference,
        {key} AS key
    FROM chosen WHERE reward IS NOT NULL GROUP BY prompt_hash HAVING count(*) >= 2
), matches AS MATERIALIZED (
    SELECT * FROM prompts {words}
), page AS (
    SELECT * FROM matches {beyond} ORDER BY key {order}, prompt_hash LIMIT :limit
)
SELECT totals.total, page.*, draws.*
FROM (SELECT count(*) AS total FROM matches) AS totals
LEFT JOIN page ON true
LEFT JOIN LATERAL (
    SELECT json_agg(json_build_array(job_id, step, prompt_no, row_index, completions, reward)) AS draws
    FROM chosen WHERE chosen.prompt_hash = page.prompt_hash
) AS draws ON true
ORDER BY page.key {order}, page.prompt_hash
"""
_KEYS = {"difference": "max(reward) - min(reward)", "reward": "avg(reward)"}
_WORDS = """
WHERE prompt_hash IN (
    SELECT prompt_hash FROM chosen JOIN job_prompt
        ON job_prompt.job_id = chosen.job_id AND job_prompt.split = :split
            AND job_prompt.row_index = chosen.row_index
    WHERE strpos(lower(prompt), lower(:q)) > 0
)
"""
_BEYOND = "WHERE key {sign} :key OR key = :key AND prompt_hash > :hash"

_ONE = _DRAWS.format(where="AND prompt_hash = :hash") + "SELECT * FROM chosen"

_COMPLETIONS = """
FROM unnest(CAST(:jobs AS text[]), CAST(:steps AS bigint[]), CAST(:numbers AS bigint[])) AS place (job, at, number)
JOIN completion
    ON completion.job_id = place.job AND completion.split = :split AND completion.step = place.at
        AND completion.prompt_no = place.number
"""
_LENGTHS = text(
    f"SELECT job_id, step, prompt_no, avg(length)::float8 AS length {_COMPLETIONS} GROUP BY job_id, step, prompt_no"
)
_SAMPLES = text(f"""
SELECT job_id, sample_no, reward, length, finish_reason, error, text {_COMPLETIONS}
WHERE sample_no IN (
    SELECT inner_rows.sample_no FROM completion AS inner_rows
    WHERE inner_rows.job_id = place.job AND inner_rows.split = :split AND inner_rows.step = place.at
        AND inner_rows.prompt_no = place.number
    ORDER BY sample_no LIMIT :samples
)
ORDER BY job_id, sample_no
""")
_TEXTS = text("""
SELECT DISTINCT ON (place.hash) place.hash, prompt, answer
FROM unnest(CAST(:hashes AS text[]), CAST(:jobs AS text[]), CAST(:rows AS bigint[]), CAST(:ranks AS bigint[]))
    AS place (hash, job, row, rank)
JOIN job_prompt
    ON job_prompt.job_id = place.job AND job_prompt.split = :split AND job_prompt.row_index = place.row
ORDER BY place.hash, place.rank
""")

Place = tuple[str, int, int]


async def page(
    session: AsyncSession,
    steps: Mapping[str, int | None],
    split: str,
    *,
    q: str | None,
    sort: PromptSort,
    limit: int,
    after: tuple[float, str] | None,
) -> tuple[int, Sequence[Row[Any]]]:
    falls = sort.startswith("-")
    statement = _DRAWS.format(where="") + _PAGE.format(
        key=_KEYS[sort.removeprefix("-")],
        words=_WORDS if q else "",
        beyond="" if after is None else _BEYOND.format(sign="<" if falls else ">"),
        order="DESC" if falls else "ASC",
    )
    values: dict[str, Any] = {
        "jobs": list(steps),
        "steps": list(steps.values()),
        "split": split,
        "limit": limit,
    }
    if q:
        values["q"] = q
    if after is not None:
        values |= {"key": after[0], "hash": after[1]}
    rows = (await session.execute(text(statement), values)).all()
    return rows[0].total, [row for row in rows if row.prompt_hash is not None]


async def draws_of(
    session: AsyncSession, steps: Mapping[str, int | None], split: str, prompt_hash: str
) -> Sequence[Row[Any]]:
    values = {"jobs": list(steps), "steps": list(steps.values()), "split": split, "hash": prompt_hash}
    return (await session.execute(text(_ONE), values)).all()


async def lengths(session: AsyncSession, split: str, places: Sequence[Place]) -> dict[Place, float]:
    rows = await session.execute(_LENGTHS, _arrays(places) | {"split": split})
    return {(row.job_id, row.step, row.prompt_no): row.length for row in rows}


async def samples(
    session: AsyncSession, split: str, places: Sequence[Place], most: int
) -> dict[str, list[Row[Any]]]:
    completions: dict[str, list[Row[Any]]] = {}
    for row in await session.execute(_SAMPLES, _arrays(places) | {"split": split, "samples": most}):
        completions.setdefault(row.job_id, []).append(row)
    return completions


async def texts(
    session: AsyncSession, split: str, rows: Sequence[tuple[str, str, int]]
) -> dict[str, tuple[str, str | None]]:
    values = {
        "hashes": [row[0] for row in rows],
        "jobs": [row[1] for row in rows],
        "rows": [row[2] for row in rows],
        "ranks": list(range(len(rows))),
        "split": split,
    }
    return {row.hash: (row.prompt, row.answer) for row in await session.execute(_TEXTS, values)}


def _arrays(places: Sequence[Place]) -> dict[str, Any]:
    jobs, steps, numbers = zip(*places, strict=True) if places else ((), (), ())
    return {"jobs": list(jobs), "steps": list(steps), "numbers": list(numbers)}
