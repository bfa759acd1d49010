"""Queries about a project: its API keys, its members, what it holds."""

from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, and_, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.cursors import cut, newest_first
from backend.models import Adapter, ApiKey, Base, BaseModel, Dataset, Job, Member, Reward, now
from reinforge.states import FINAL


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[ApiKey], bool]:
    query = select(ApiKey).where(ApiKey.project_id == project_id, ApiKey.revoked_at.is_(None))
    query = newest_first(query, ApiKey.created_at, ApiKey.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def revoke(session: AsyncSession, project_id: str, id: str) -> bool:
    """Whether there was a key to revoke."""
    found = await session.scalar(
        update(ApiKey)
        .where(ApiKey.id == id, ApiKey.project_id == project_id, ApiKey.revoked_at.is_(None))
        .values(revoked_at=now())
        .returning(ApiKey.id)
    )
    return found is not None


async def members(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Member], bool]:
    """Newest first."""
    query = select(Member).where(Member.project_id == project_id)
    query = newest_first(query, Member.created_at, Member.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def find_member(session: AsyncSession, project_id: str, id: str) -> Member | None:
    query = select(Member).where(Member.id == id, Member.project_id == project_id).with_for_update()
    return (await session.scalars(query)).one_or_none()


async def counts(session: AsyncSession, project_id: str) -> dict[str, Any]:
    """Everything that the project holds, in one statement."""

    def count(table: type[Base], *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
        return select(func.count()).select_from(table).where(*conditions).scalar_subquery()

    jobs = and_(Job.project_id == project_id, Job.purpose == "train")
    newest_demo = (
        select(Job.id)
        .where(jobs, Job.resolved_spec["metadata"].has_key("demo"))
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = select(
        count(Dataset, Dataset.project_id == project_id, Dataset.deleted_at.is_(None)).label("datasets"),
        count(Reward, Reward.project_id == project_id).label("rewards"),
        count(Job, jobs).label("jobs"),
        count(Job, jobs, Job.status.not_in([str(status) for status in FINAL])).label("unfinished_jobs"),
        count(Adapter, Adapter.project_id == project_id, Adapter.deleted_at.is_(None)).label("adapters"),
        count(BaseModel).label("models"),
        newest_demo.label("demo_job"),
    )
    return dict((await session.execute(query)).mappings().one())
