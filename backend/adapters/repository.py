"""Queries about adapters."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, newest_first
from backend.models import Adapter, BaseModel, Checkpoint, Job


async def find(session: AsyncSession, project_id: str, id: str) -> Adapter | None:
    query = select(Adapter).where(
        Adapter.id == id, Adapter.project_id == project_id, Adapter.deleted_at.is_(None)
    )
    return (await session.scalars(query)).one_or_none()


async def weights(session: AsyncSession, id: str) -> Checkpoint | None:
    query = select(Checkpoint).join(Adapter, Adapter.checkpoint_id == Checkpoint.id)
    checkpoint: Checkpoint | None = await session.scalar(
        query.where(Adapter.id == id, Adapter.deleted_at.is_(None))
    )
    return checkpoint


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Adapter], bool]:
    query = select(Adapter).where(Adapter.project_id == project_id, Adapter.deleted_at.is_(None))
    query = newest_first(query, Adapter.created_at, Adapter.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def beside(
    session: AsyncSession, adapters: Sequence[Adapter]
) -> dict[str, tuple[float | None, Checkpoint | None]]:
    query = (
        select(Adapter.id, Job.held_out_reward_before, Checkpoint)
        .outerjoin(Job, Job.id == Adapter.job_id)
        .outerjoin(Checkpoint, (Checkpoint.job_id == Job.id) & Checkpoint.best)
        .where(Adapter.id.in_([adapter.id for adapter in adapters]))
    )
    return {id: (base, best) for id, base, best in await session.execute(query)}


async def origin(session: AsyncSession, adapter: Adapter) -> tuple[Job | None, BaseModel]:
    job = None if adapter.job_id is None else await session.get_one(Job, adapter.job_id)
    return job, await session.get_one(BaseModel, adapter.model_key)
