"""Keyset pagination, stable while rows arrive."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Select, literal, tuple_

from reinforge.errors import InvalidInput

T = TypeVar("T")
Row = TypeVar("Row")


def encode_cursor(created_at: datetime, id: str) -> str:
    return base64.urlsafe_b64encode(f"{created_at.isoformat()}|{id}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        when, _, id = raw.partition("|")
        created_at = datetime.fromisoformat(when)
        if created_at.tzinfo is None or "\0" in id:
            raise ValueError(cursor)
        return created_at, id
    except (ValueError, binascii.Error) as error:
        raise invalid_cursor() from error


def invalid_cursor() -> InvalidInput:
    return InvalidInput(
        "`after` is not a cursor of this list.",
        code="invalid_cursor",
        param="after",
        hint="Pass the `next_cursor` of the page before, unchanged.",
    )


def newest_first(
    query: Select[Row], created_at: Any, id: Any, *, limit: int, after: str | None
) -> Select[Row]:
    place = None if after is None else decode_cursor(after)
    return by_creation(query, created_at, id, limit=limit, after=place)


def by_creation(
    query: Select[Row],
    created_at: Any,
    id: Any,
    *,
    limit: int,
    after: tuple[datetime, str] | None,
    oldest_first: bool = False,
) -> Select[Row]:
    if after is not None:
        # As one row value the index finds the place; as OR of two conditions it would be read up to it.
        position, after_position = tuple_(created_at, id), tuple_(literal(after[0]), literal(after[1]))
        query = query.where(position > after_position if oldest_first else position < after_position)
    order = (created_at, id) if oldest_first else (created_at.desc(), id.desc())
    return query.order_by(*order).limit(limit + 1)


def cut(rows: Sequence[T], limit: int) -> tuple[list[T], bool]:
    return list(rows[:limit]), len(rows) > limit
