"""Prompts that compared jobs share, and their completions side by side."""

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any

import orjson
from pydantic import Field, TypeAdapter
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, invalid_cursor
from backend.jobs.comparison import prompt_queries
from backend.jobs.comparison.measured import evaluation_steps, jobs_of
from backend.jobs.comparison.prompt_queries import PromptSort
from backend.jobs.monitoring.completions import Split
from reinforge.errors import NotFound
from reinforge.schemas.comparison import (
    ComparedCompletion,
    ComparedPrompt,
    ComparedPromptPage,
    Moment,
    PromptComparison,
    PromptResult,
    PromptSamples,
)

_Cursor = tuple[
    PromptSort,
    Annotated[float, Field(allow_inf_nan=False)],
    Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")],
]
_CURSOR: TypeAdapter[_Cursor] = TypeAdapter(_Cursor)


async def page(
    session: AsyncSession,
    project_id: str,
    ids: Sequence[str],
    *,
    split: Split,
    at: Moment,
    q: str | None,
    sort: PromptSort,
    limit: int,
    after: str | None,
) -> ComparedPromptPage:
    place = None if after is None else _decode(after, sort)
    steps = await _steps(session, project_id, ids, split, at)
    total, rows = await prompt_queries.page(
        session, steps, split, q=q, sort=sort, limit=limit + 1, after=place
    )
    rows, has_more = cut(rows, limit)
    draws = {row.prompt_hash: sorted(row.draws, key=lambda draw: ids.index(draw[0])) for row in rows}
    lengths = await prompt_queries.lengths(
        session, split, [(job, step, number) for list_ in draws.values() for job, step, number, *_ in list_]
    )
    texts = await prompt_queries.texts(
        session, split, [(hash, draw[0], draw[3]) for hash, list_ in draws.items() for draw in list_]
    )
    data = []
    for row in rows:
        prompt, answer = texts.get(row.prompt_hash, (None, None))
        data.append(
            ComparedPrompt(
                prompt_hash=row.prompt_hash,
                prompt=prompt,
                answer=answer,
                jobs=row.jobs,
                reward=row.mean,
                difference=row.difference,
                results=[_result(draw, lengths) for draw in draws[row.prompt_hash]],
            )
        )
    return ComparedPromptPage(
        data=data,
        has_more=has_more,
        next_cursor=_encode(sort, rows[-1]) if has_more else None,
        total=total,
    )


async def one(
    session: AsyncSession,
    project_id: str,
    ids: Sequence[str],
    prompt_hash: str,
    *,
    split: Split,
    at: Moment,
    samples: int,
) -> PromptComparison:
    steps = await _steps(session, project_id, ids, split, at)
    rows = sorted(
        await prompt_queries.draws_of(session, steps, split, prompt_hash),
        key=lambda row: ids.index(row.job_id),
    )
    if not rows:
        raise NotFound(
            f"None of the jobs has a {split} prompt {prompt_hash}.",
            code="prompt_not_found",
            param="prompt_hash",
        )
    places = [(row.job_id, row.step, row.prompt_no) for row in rows]
    lengths = await prompt_queries.lengths(session, split, places)
    completions = await prompt_queries.samples(session, split, places, samples)
    texts = await prompt_queries.texts(
        session, split, [(prompt_hash, row.job_id, row.row_index) for row in rows]
    )
    prompt, answer = texts.get(prompt_hash, (None, None))
    results = []
    for row in rows:
        draw = (row.job_id, row.step, row.prompt_no, row.row_index, row.completions, row.reward)
        result = _result(draw, lengths)
        results.append(
            PromptSamples(
                **result.model_dump(),
                samples=[
                    ComparedCompletion.model_validate(completion)
                    for completion in completions.get(row.job_id, [])
                ],
            )
        )
    return PromptComparison(prompt_hash=prompt_hash, prompt=prompt, answer=answer, results=results)


async def _steps(
    session: AsyncSession, project_id: str, ids: Sequence[str], split: Split, at: Moment
) -> dict[str, int | None]:
    jobs = await jobs_of(session, project_id, ids)
    if split == "train":
        return dict.fromkeys(ids)
    return dict(await evaluation_steps(session, jobs, at))


def _result(draw: Sequence[Any], lengths: dict[prompt_queries.Place, float]) -> PromptResult:
    job, step, prompt_no, row_index, completions, reward = draw
    return PromptResult(
        job=job,
        step=step,
        prompt_no=prompt_no,
        row_index=row_index,
        completions=completions,
        reward=reward,
        completion_tokens=lengths.get((job, step, prompt_no)),
    )


def _encode(sort: PromptSort, row: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([sort, row.key, row.prompt_hash])).decode().rstrip("=")


def _decode(cursor: str, sort: PromptSort) -> tuple[float, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = _CURSOR.validate_json(base64.b64decode(padded, altchars=b"-_", validate=True), strict=True)
    except (ValueError, binascii.Error) as error:
        raise invalid_cursor() from error
    if place[0] != sort:
        raise invalid_cursor()
    return place[1], place[2]
