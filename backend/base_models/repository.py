"""Queries about base models. They belong to no project, because workers belong to none."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.cursors import cut, newest_first
from backend.models import BaseModel, now


async def find(session: AsyncSession, id: str) -> BaseModel | None:
    return await session.get(BaseModel, id)


async def page(session: AsyncSession, *, limit: int, after: str | None) -> tuple[list[BaseModel], bool]:
    query = newest_first(select(BaseModel), BaseModel.created_at, BaseModel.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def put(session: AsyncSession, id: str, values: dict[str, Any], *, replace: bool) -> BaseModel:
    """Add a model, or (`replace`) renew what is known of it; without `replace` an existing one stays as it is."""
    query = insert(BaseModel).values(id=id, created_at=now(), **values)
    if replace:
        query = query.on_conflict_do_update(index_elements=["id"], set_=values)
    else:
        query = query.on_conflict_do_nothing(index_elements=["id"])
    await session.execute(query)
    return await session.get_one(BaseModel, id, populate_existing=True)
