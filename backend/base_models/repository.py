"""Queries about base models. They belong to no project, because workers belong to none."""

from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models.sources import TEMPLATE, plain
from backend.cursors import cut, newest_first
from backend.models import Adapter, BaseModel, Deployment, Job, now


async def find(session: AsyncSession, id: str) -> BaseModel | None:
    return await session.get(BaseModel, id)


async def ids(session: AsyncSession, limit: int) -> list[str]:
    """Of models that jobs may use, newest first."""
    query = select(BaseModel.id).where(BaseModel.status == "ready").order_by(BaseModel.created_at.desc())
    return list(await session.scalars(query.limit(limit)))


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


async def change(session: AsyncSession, id: str, values: dict[str, Any]) -> None:
    await session.execute(update(BaseModel).where(BaseModel.id == id).values(**values))


async def note(session: AsyncSession, id: str, progress: dict[str, Any]) -> None:
    """How far an addition is."""
    await change(session, id, {"progress": progress, "touched_at": now()})


async def used_by(session: AsyncSession, id: str) -> str | None:
    """The id of a job, adapter or deployment that names the model."""
    for column, owner in (
        (Job.model_id, Job.id),
        (Adapter.model_id, Adapter.id),
        (Deployment.model_id, Deployment.id),
    ):
        found: str | None = await session.scalar(select(owner).where(column == id).limit(1))
        if found is not None:
            return found
    return None


async def is_deployed(session: AsyncSession, name: str) -> bool:
    """Whether a deployment of any project has this name."""
    found = await session.scalar(select(Deployment.id).where(Deployment.name == name).limit(1))
    return found is not None


async def token_of(session: AsyncSession, source: str) -> tuple[str, str] | None:
    """(model, sealed token) of a model from the hub with this source, whatever template was chosen for it.

    Of one that a worker has looked at with it: a token that was only given may be wrong.
    """
    query = select(BaseModel.id, BaseModel.token_sealed).where(
        func.split_part(BaseModel.source, TEMPLATE, 1) == plain(source),
        BaseModel.token_sealed.is_not(None),
        BaseModel.status == "ready",
    )
    row = (await session.execute(query.limit(1))).one_or_none()
    return None if row is None or row[1] is None else (row[0], row[1])
