"""Search of a job's completions; pages stay stable while steps arrive."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, TypeAdapter
from sqlalchemy import (
    ColumnElement,
    FromClause,
    Subquery,
    and_,
    func,
    nulls_last,
    or_,
    select,
    true,
)
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut
from backend.jobs.monitoring import search_text
from backend.jobs.monitoring.completions import Split
from backend.jobs.monitoring.groups import HEAD
from backend.jobs.prompts import repository as prompts
from backend.models import Completion as Row
from reinforge.errors import InvalidInput
from reinforge.schemas.jobs import CompletionHit, CompletionHits
from reinforge.tools import Outcome, call_key

COUNTED_TO = 10_000

Sort = Literal["step", "-step", "reward", "-reward", "length", "-length"]
Advantage = Literal["positive", "negative", "zero", "none"]
NonNegativeInt = Annotated[int, Field(ge=0, le=2**53)]
Place = tuple[
    Sort,
    Annotated[float, Field(allow_inf_nan=False)] | None,
    NonNegativeInt,
    Split,
    NonNegativeInt,
    NonNegativeInt,
]
"""Cursor: sort order; then sort value, step, split, prompt_no, sample_no of a page's last completion."""

_PLACE: TypeAdapter[Place] = TypeAdapter(Place)
_KEY = (Row.step, Row.split, Row.prompt_no, Row.sample_no)
# Which index is best depends on how many rows a value selects; after ten executions of a prepared statement the plan
# would be one for any value. Until the transaction ends.
_PLAN_FOR_VALUES = select(func.set_config("plan_cache_mode", "force_custom_plan", True))
_SIGN = {
    "positive": Row.advantage > 0,
    "negative": Row.advantage < 0,
    "zero": Row.advantage == 0,
    "none": Row.advantage.is_(None),
}


@dataclass(frozen=True, kw_only=True)
class Filters:
    """None means no restriction; ranges are inclusive."""

    q: str | None = None
    split: Split | None = None
    prompt_hash: str | None = None
    step_from: int | None = None
    step_to: int | None = None
    reward_min: float | None = None
    reward_max: float | None = None
    advantage: Advantage | None = None
    finish_reason: str | None = None
    failed: bool | None = None
    length_min: int | None = None
    length_max: int | None = None
    turns_min: int | None = None
    turns_max: int | None = None
    tool: str | None = None
    tool_status: Outcome | None = None
    """Status that a tool call must have; with `tool`, a call of that tool."""

    def conditions(self) -> list[ColumnElement[bool]]:
        equal = {
            Row.split: self.split,
            Row.prompt_hash: self.prompt_hash,
            Row.finish_reason: self.finish_reason,
        }
        least = {
            Row.step: self.step_from,
            Row.reward: self.reward_min,
            Row.length: self.length_min,
            Row.turns: self.turns_min,
        }
        most = {
            Row.step: self.step_to,
            Row.reward: self.reward_max,
            Row.length: self.length_max,
            Row.turns: self.turns_max,
        }
        conditions: list[ColumnElement[bool]] = [
            *(column == value for column, value in equal.items() if value is not None),
            *(column >= value for column, value in least.items() if value is not None),
            *(column <= value for column, value in most.items() if value is not None),
        ]
        if self.advantage is not None:
            conditions.append(_SIGN[self.advantage])
        if self.failed is not None:
            conditions.append(Row.error.is_not(None) if self.failed else Row.error.is_(None))
        if self.tool is not None or self.tool_status is not None:
            conditions.append(Row.call_keys.contains([call_key(self.tool, self.tool_status)]))
        if self.tool is not None or self.tool_status is not None or (self.turns_min or 0) > 1:
            # True anyway; in a form that can use an index.
            conditions.append(Row.tool_calls > 0)
        if self.q is not None and (words := search_text.condition(self.q)) is not None:
            conditions.append(words)
        return conditions


async def find(
    session: AsyncSession, job_id: str, filters: Filters, *, sort: Sort, limit: int, after: str | None
) -> CompletionHits:
    """A page of matches, and their number up to COUNTED_TO. Must run in a transaction. Raises
    InvalidInput `invalid_cursor` if `after` does not fit `sort`.
    """
    place = None if after is None else _decode(after, sort)
    await session.execute(_PLAN_FOR_VALUES)
    narrow = select(*_KEY, Row.reward, Row.length).where(Row.job_id == job_id, *filters.conditions())
    matches = narrow.limit(COUNTED_TO + 1).cte("matches").prefix_with("MATERIALIZED")
    page = _page(matches, sort, limit, place)
    count = select(func.count().label("total")).select_from(matches).subquery()
    first = (
        select(count.c.total, Row)
        .select_from(count)
        .outerjoin(page, true())
        .outerjoin(Row, _matches_key(job_id, page))
    )
    answer = (await session.execute(first.order_by(*_order(page, sort)))).all()
    total = answer[0].total
    rows = [row for _, row in answer if row is not None]
    if total > COUNTED_TO:
        page = _page(narrow.subquery(), sort, limit, place)
        second = select(Row).select_from(page).join(Row, _matches_key(job_id, page))
        rows = list(await session.scalars(second.order_by(*_order(page, sort))))
    rows, has_more = cut(rows, limit)
    return CompletionHits(
        data=await _hits(session, job_id, rows),
        has_more=has_more,
        next_cursor=_encode(sort, rows[-1]) if has_more else None,
        total=min(total, COUNTED_TO),
        counted_to=COUNTED_TO,
    )


async def _hits(session: AsyncSession, job_id: str, rows: Sequence[Row]) -> list[CompletionHit]:
    heads = await prompts.texts(session, job_id, {(row.split, row.row_index) for row in rows})
    hits = []
    for row in rows:
        hit = CompletionHit.model_validate(row)
        prompt, answer = heads.get((row.split, row.row_index), (None, None))
        hit.prompt, hit.answer = prompt and prompt[:HEAD], answer and answer[:HEAD]
        hits.append(hit)
    return hits


def _page(source: FromClause, sort: Sort, limit: int, place: Place | None) -> Subquery:
    page = select(source)
    if place is not None:
        page = page.where(_beyond(source, place))
    return page.order_by(*_order(source, sort)).limit(limit + 1).subquery()


def _matches_key(job_id: str, page: Subquery) -> ColumnElement[bool]:
    return and_(Row.job_id == job_id, *(column == page.c[column.key] for column in _KEY))


def _keys(source: FromClause, sort: Sort) -> list[tuple[ColumnElement[Any], bool]]:
    name, falls = sort.removeprefix("-"), sort.startswith("-")
    tie_breakers = [
        (source.c["split"], False),
        (source.c["prompt_no"], False),
        (source.c["sample_no"], False),
    ]
    if name == "step":
        return [(source.c["step"], falls), *tie_breakers]
    return [(source.c[name], falls), (source.c["step"], True), *tie_breakers]


def _order(source: FromClause, sort: Sort) -> list[ColumnElement[Any]]:
    keys = [column.desc() if falls else column.asc() for column, falls in _keys(source, sort)]
    return [nulls_last(keys[0]) if sort.endswith("reward") else keys[0], *keys[1:]]


def _beyond(source: FromClause, place: Place) -> ColumnElement[bool]:
    sort, value, step, *tie_values = place
    values = [step, *tie_values] if sort.endswith("step") else [value, step, *tie_values]
    alternatives: list[ColumnElement[bool]] = []
    same: list[ColumnElement[bool]] = []
    for (column, falls), last in zip(_keys(source, sort), values, strict=True):
        if last is None:
            same.append(column.is_(None))
            continue
        further: ColumnElement[bool] = column < last if falls else column > last
        if column.key == "reward":
            further = or_(further, column.is_(None))
        alternatives.append(and_(*same, further))
        same.append(column == last)
    beyond = or_(*alternatives)
    if sort.endswith("step"):  # repeated in a form that can use an index
        return and_(source.c["step"] <= step if sort == "-step" else source.c["step"] >= step, beyond)
    return beyond


def _encode(sort: Sort, row: Row) -> str:
    value = row.length if sort.endswith("length") else row.reward if sort.endswith("reward") else None
    place = [sort, value, row.step, row.split, row.prompt_no, row.sample_no]
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def _decode(cursor: str, sort: Sort) -> Place:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = _PLACE.validate_json(base64.b64decode(padded, altchars=b"-_", validate=True), strict=True)
        if place[0] != sort or (place[1] is None and sort.endswith("length")):
            raise ValueError(cursor)
        return place
    except (ValueError, binascii.Error) as error:
        raise InvalidInput(
            "`after` is not a cursor of this search.",
            code="invalid_cursor",
            param="after",
            hint="Pass the `next_cursor` of the page before, unchanged, with the same `sort`.",
        ) from error
