"""Queries about aliases of adapters."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Adapter, AdapterAlias


async def find(
    session: AsyncSession, project_id: str, name: str, *, lock: bool = False
) -> AdapterAlias | None:
    query = select(AdapterAlias).where(AdapterAlias.project_id == project_id, AdapterAlias.name == name)
    alias: AdapterAlias | None = await session.scalar(query.with_for_update() if lock else query)
    return alias


async def adapter_of(session: AsyncSession, project_id: str, name: str) -> Adapter | None:
    query = select(Adapter).join(AdapterAlias, AdapterAlias.adapter_id == Adapter.id)
    query = query.where(AdapterAlias.project_id == project_id, AdapterAlias.name == name)
    adapter: Adapter | None = await session.scalar(query)
    return adapter


async def names_of(session: AsyncSession, adapter_ids: Sequence[str]) -> list[str]:
    query = select(AdapterAlias.name).where(AdapterAlias.adapter_id.in_(adapter_ids))
    return list(await session.scalars(query.order_by(AdapterAlias.name)))


async def all_of(session: AsyncSession, project_id: str) -> list[tuple[AdapterAlias, Adapter]]:
    query = select(AdapterAlias, Adapter).join(Adapter, Adapter.id == AdapterAlias.adapter_id)
    query = query.where(AdapterAlias.project_id == project_id).order_by(AdapterAlias.name)
    return [(alias, adapter) for alias, adapter in await session.execute(query)]


async def lock_adapter(session: AsyncSession, id: str) -> bool:
    """Lock an adapter until the end of the transaction, so that nobody deletes it or gives it an alias. False
    if it is deleted.
    """
    query = select(Adapter.id).where(Adapter.id == id, Adapter.deleted_at.is_(None))
    return await session.scalar(query.with_for_update()) is not None
