"""Queries about judges."""

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import JudgeRow


async def find(session: AsyncSession, project_id: str, id: str) -> JudgeRow | None:
    query = select(JudgeRow).where(JudgeRow.project_id == project_id)
    judge: JudgeRow | None = await session.scalar(
        query.where((JudgeRow.id == id) | (JudgeRow.name == id)).order_by(JudgeRow.id == id).limit(1)
    )
    return judge


async def of_project(session: AsyncSession, project_id: str) -> list[JudgeRow]:
    query = select(JudgeRow).where(JudgeRow.project_id == project_id).order_by(JudgeRow.name)
    return list(await session.scalars(query))


async def named(session: AsyncSession, project_id: str, names: Iterable[str]) -> dict[str, JudgeRow]:
    query = select(JudgeRow).where(JudgeRow.project_id == project_id, JudgeRow.name.in_(list(names)))
    return {row.name: row for row in await session.scalars(query)}
