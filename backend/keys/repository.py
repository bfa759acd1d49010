"""Queries about API keys."""

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, newest_first
from backend.models import ApiKey, now


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[ApiKey], bool]:
    query = select(ApiKey).where(ApiKey.project_id == project_id, ApiKey.revoked_at.is_(None))
    query = newest_first(query, ApiKey.created_at, ApiKey.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def find(session: AsyncSession, project_id: str, id: str) -> ApiKey | None:
    query = select(ApiKey).where(
        ApiKey.id == id, ApiKey.project_id == project_id, ApiKey.revoked_at.is_(None)
    )
    return await session.scalar(query.with_for_update())


async def revoke(session: AsyncSession, project_id: str, id: str) -> bool:
    key_hash = await session.scalar(
        update(ApiKey)
        .where(ApiKey.id == id, ApiKey.project_id == project_id, ApiKey.revoked_at.is_(None))
        .values(revoked_at=now())
        .returning(ApiKey.id)
    )
    return key_hash is not None


async def revoke_of(session: AsyncSession, maker_id: str, project_id: str) -> None:
    """Revoke the person's keys in the project, and keys created with these keys."""
    await session.execute(
        update(ApiKey)
        .where(ApiKey.maker_id == maker_id, ApiKey.project_id == project_id, ApiKey.revoked_at.is_(None))
        .values(revoked_at=now())
    )
