"""Queries about golden cases."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import GoldenCaseRow


async def of_reward(session: AsyncSession, reward_id: str) -> Sequence[GoldenCaseRow]:
    query = select(GoldenCaseRow).where(GoldenCaseRow.reward_id == reward_id)
    return (await session.scalars(query.order_by(GoldenCaseRow.created_at, GoldenCaseRow.id))).all()


async def count(session: AsyncSession, reward_id: str) -> int:
    query = select(func.count()).select_from(GoldenCaseRow).where(GoldenCaseRow.reward_id == reward_id)
    return await session.scalar(query) or 0


async def find(session: AsyncSession, reward_id: str, id: str) -> GoldenCaseRow | None:
    query = select(GoldenCaseRow).where(GoldenCaseRow.id == id, GoldenCaseRow.reward_id == reward_id)
    case: GoldenCaseRow | None = await session.scalar(query)
    return case
