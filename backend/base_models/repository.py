"""Queries about base models: a project's own and shared ones."""

from typing import Any

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.http.cursors import cut, newest_first
from backend.models import Adapter, AdapterAlias, BaseModel, Deployment, Job, now


def visible_to(project_id: str) -> ColumnElement[bool]:
    return or_(BaseModel.project_id == project_id, BaseModel.project_id.is_(None))


async def find(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> BaseModel | None:
    """The project's model of this name, otherwise the shared one."""
    query = select(BaseModel).where(BaseModel.id == id, visible_to(project_id))
    query = query.order_by(BaseModel.project_id.is_(None)).limit(1)
    model: BaseModel | None = await session.scalar(query.with_for_update() if lock else query)
    return model


async def find_shared(session: AsyncSession, id: str) -> BaseModel | None:
    query = select(BaseModel).where(BaseModel.id == id, BaseModel.project_id.is_(None))
    model: BaseModel | None = await session.scalar(query)
    return model


async def others_named(session: AsyncSession, model: BaseModel) -> bool:
    query = select(BaseModel.key).where(BaseModel.id == model.id, BaseModel.key != model.key)
    return await session.scalar(query.limit(1)) is not None


async def ids(session: AsyncSession, project_id: str, limit: int) -> list[str]:
    query = select(BaseModel.id).where(BaseModel.status == "ready", visible_to(project_id))
    return list(await session.scalars(query.order_by(BaseModel.created_at.desc()).limit(limit)))


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[BaseModel], bool]:
    query = select(BaseModel).where(visible_to(project_id))
    query = newest_first(query, BaseModel.created_at, BaseModel.key, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def lock_name(session: AsyncSession, id: str) -> None:
    """Serialise additions and sharing of models with this name until commit."""
    await session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"base_model {id}", 0))))


async def put_shared(session: AsyncSession, id: str, values: dict[str, Any]) -> None:
    query = insert(BaseModel).values(key=new_id("mdl_"), id=id, project_id=None, created_at=now(), **values)
    await session.execute(query.on_conflict_do_update(index_elements=["id", "project_id"], set_=values))


async def change(session: AsyncSession, key: str, values: dict[str, Any]) -> None:
    await session.execute(update(BaseModel).where(BaseModel.key == key).values(**values))


async def note(session: AsyncSession, key: str, progress: dict[str, Any]) -> None:
    await change(session, key, {"progress": progress, "touched_at": now()})


async def users(session: AsyncSession, key: str) -> dict[str, str]:
    user_ids: dict[str, str] = {}
    for table in (Job, Adapter, Deployment):
        query = select(table.project_id, func.min(table.id)).where(table.model_key == key)
        for project_id, id in await session.execute(query.group_by(table.project_id)):
            user_ids.setdefault(project_id, id)
    return user_ids


async def is_deployed(session: AsyncSession, project_id: str | None, name: str) -> bool:
    """Whether a deployment or alias of the project, or of any project if None, has this name."""
    query = select(Deployment.id).where(Deployment.name == name)
    if project_id is not None:
        query = query.where(Deployment.project_id == project_id)
    if await session.scalar(query.limit(1)) is not None:
        return True
    aliases = select(AdapterAlias.id).where(AdapterAlias.name == name)
    if project_id is not None:
        aliases = aliases.where(AdapterAlias.project_id == project_id)
    return await session.scalar(aliases.limit(1)) is not None
