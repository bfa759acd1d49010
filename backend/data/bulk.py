"""Bulk inserts in one round trip: rows as one JSON string, numeric columns as arrays."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import JSON, FromClause, TextClause, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models.base import Base

_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]
_SKIP = " ON CONFLICT DO NOTHING"


async def insert_many(
    session: AsyncSession,
    table: type[Base],
    columns: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    *,
    same: Mapping[str, Any] | None = None,
    skip_existing: bool = False,
) -> None:
    if not rows:
        return
    same = same or {}
    if len(rows) == 1:
        row = {**same, **{name: rows[0].get(name) for name in columns}}
        await _insert_one(session, table, row, skip_existing)
        return
    statement = _statement(table, tuple(same), tuple(columns), skip_existing)
    await session.execute(statement, {**same, "rows": orjson.dumps(rows).decode()})


async def _insert_one(
    session: AsyncSession, table: type[Base], row: Mapping[str, Any], skip_existing: bool
) -> None:
    sql_table = table.metadata.tables[table.__tablename__]
    values = {
        name: orjson.dumps(value).decode()
        if value is not None and isinstance(sql_table.c[name].type, JSON)
        else value
        for name, value in row.items()
    }
    await session.execute(_statement_of_one(table, tuple(row), skip_existing), values)


async def insert_columns(
    session: AsyncSession,
    table: type[Base],
    columns: Mapping[str, Sequence[float | None]],
    *,
    replacing: bool = False,
) -> None:
    """Insert numeric columns of equal length. With `replacing`, rows whose key exists are updated."""
    statement = _statement_of_columns(table, tuple(columns), replacing)
    await session.execute(statement, {name: _array(column) for name, column in columns.items()})


def _array(numbers: Sequence[float | None]) -> str:
    return f"{{{orjson.dumps(numbers)[1:-1].decode()}}}"


@functools.cache
def _statement_of_columns(table: type[Base], names: tuple[str, ...], replacing: bool) -> TextClause:
    sql_table = table.metadata.tables[table.__tablename__]
    arrays = _parameters(sql_table, names, "[]")
    statement = f"INSERT INTO {sql_table.name} ({', '.join(names)}) SELECT * FROM unnest({', '.join(arrays)})"
    return text(statement + (_replacement(sql_table, names) if replacing else ""))


@functools.cache
def _statement_of_one(table: type[Base], names: tuple[str, ...], skip_existing: bool) -> TextClause:
    sql_table = table.metadata.tables[table.__tablename__]
    values = ", ".join(_parameters(sql_table, names))
    return text(
        f"INSERT INTO {sql_table.name} ({', '.join(names)}) VALUES ({values}){_SKIP if skip_existing else ''}"
    )


@functools.cache
def _statement(
    table: type[Base], same: tuple[str, ...], varying: tuple[str, ...], skip_existing: bool
) -> TextClause:
    sql_table = table.metadata.tables[table.__tablename__]
    values = _parameters(sql_table, same) + [f"rows.{name}" for name in varying]
    shape = ", ".join(f"{name} {_type(sql_table, name)}" for name in varying)
    return text(
        f"INSERT INTO {sql_table.name} ({', '.join((*same, *varying))}) SELECT {', '.join(values)}"
        f" FROM json_to_recordset(CAST(:rows AS json)) AS rows ({shape})"
        f"{_SKIP if skip_existing else ''}"
    )


def _parameters(table: FromClause, names: Sequence[str], suffix: str = "") -> list[str]:
    return [f"CAST(:{name} AS {_type(table, name)}{suffix})" for name in names]


def _type(table: FromClause, name: str) -> str:
    return table.c[name].type.compile(dialect=_DIALECT)


def _replacement(table: FromClause, names: Sequence[str]) -> str:
    key = [column.name for column in table.primary_key]
    fresh = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    return f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {fresh}"
