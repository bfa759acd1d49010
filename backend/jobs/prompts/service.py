"""Prompts of a job: a page of totals per prompt, with texts and series."""

import base64
import binascii
import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import orjson
from pydantic import Field, TypeAdapter
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut
from backend.jobs.prompts import repository
from backend.jobs.prompts.repository import PromptFilter, Sort
from backend.models import Job
from reinforge.errors import InvalidInput
from reinforge.schemas.job_prompts import JobPrompt, JobPromptPage, PromptSeries

POINTS = 40

_Cursor = tuple[
    Sort, Annotated[float, Field(allow_inf_nan=False)] | None, Annotated[int, Field(ge=0, le=2**53)]
]
_CURSOR: TypeAdapter[_Cursor] = TypeAdapter(_Cursor)


async def page(
    session: AsyncSession, job: Job, chosen: PromptFilter, *, limit: int, after: str | None
) -> JobPromptPage:
    place = None if after is None else _decode(after, chosen.sort)
    sums = await repository.sums(session, job.id, chosen, limit=limit + 1, after=place)
    rows, has_more = cut(sums.rows, limit)
    indexes = [row.row_index for row in rows]
    texts = await repository.texts(session, job.id, [(chosen.split, index) for index in indexes])
    draws: dict[int, list[Any]] = defaultdict(list)
    for draw in await repository.draws(session, job.id, chosen.split, indexes):
        draws[draw.row_index].append(draw)
    data = [
        _prompt(row, draws[row.row_index], texts.get((chosen.split, row.row_index)))
        for row in rows
        if row.row_index in draws  # else a resume deleted its steps meanwhile
    ]
    return JobPromptPage(
        data=data,
        has_more=has_more,
        next_cursor=_encode(chosen.sort, rows[-1]) if has_more else None,
        total=sums.total,
        prompts=sum(sums.categories.values()),
        categories={name: count for name, count in sums.categories.items() if name},
        pass_above=float(job.resolved_spec["evaluation"].get("pass_above", 0.5)),
    )


def _prompt(row: Any, draws: Sequence[Any], head: tuple[str, str | None] | None) -> JobPrompt:
    prompt, answer = head or (None, None)
    last = draws[-1]
    return JobPrompt(
        row_index=row.row_index,
        prompt_hash=last.prompt_hash,
        prompt=prompt,
        answer=answer,
        category=row.category,
        draws=row.draws,
        completions=row.completions,
        scored=row.scored,
        pass_share=row.pass_share,
        first_pass_share=row.first_pass_share,
        last_pass_share=row.last_pass_share,
        first_reward=row.first_reward,
        last_reward=row.last_reward,
        variance=row.variance,
        last_step=last.step,
        last_prompt_no=last.prompt_no,
        series=series([(draw.step, draw.reward_sum / draw.scored) for draw in draws if draw.scored]),
    )


def series(points: Sequence[tuple[int, float]], most: int = POINTS) -> PromptSeries:
    count = min(len(points), most)
    bounds = [number * len(points) // count for number in range(count + 1)] if count else []
    parts = [points[low:high] for low, high in pairwise(bounds)]
    return PromptSeries(
        steps=[part[-1][0] for part in parts],
        rewards=[math.fsum(reward for _, reward in part) / len(part) for part in parts],
    )


def _encode(sort: Sort, row: Any) -> str:
    place = [sort, repository.key_of(row), row.row_index]
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def _decode(cursor: str, sort: Sort) -> tuple[float, int]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = _CURSOR.validate_json(base64.b64decode(padded, altchars=b"-_", validate=True), strict=True)
        if place[0] != sort:
            raise ValueError(cursor)
    except (ValueError, binascii.Error) as error:
        raise InvalidInput(
            "`after` is not a cursor of this list.",
            code="invalid_cursor",
            param="after",
            hint="Pass the `next_cursor` of the page before, unchanged, with the same `sort`.",
        ) from error
    nothing = -math.inf if sort.startswith("-") else math.inf
    return nothing if place[1] is None else place[1], place[2]
