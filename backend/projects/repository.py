"""Queries about projects, members and invitations."""

from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, and_, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.http.cursors import cut, newest_first
from backend.models import (
    Adapter,
    Base,
    BaseModel,
    Dataset,
    Invitation,
    Job,
    Member,
    Project,
    Reward,
    SignInToken,
    User,
)
from reinforge.states import FINAL


async def members(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[tuple[Member, User]], bool]:
    query = select(Member).where(Member.project_id == project_id)
    query = newest_first(query, Member.created_at, Member.id, limit=limit, after=after)
    rows, more = cut((await session.scalars(query)).all(), limit)
    users = await session.scalars(select(User).where(User.id.in_([member.user_id for member in rows])))
    user_by_id = {user.id: user for user in users}
    return [(member, user_by_id[member.user_id]) for member in rows], more


async def find_member(session: AsyncSession, project_id: str, id: str) -> tuple[Member, User] | None:
    query = (
        select(Member, User)
        .join(User, User.id == Member.user_id)
        .where(Member.id == id, Member.project_id == project_id)
        .with_for_update(of=Member)
    )
    row = (await session.execute(query)).one_or_none()
    return None if row is None else (row[0], row[1])


async def is_named(session: AsyncSession, project_id: str, name: str) -> bool:
    query = select(Member.id).join(User, User.id == Member.user_id)
    return await session.scalar(query.where(Member.project_id == project_id, User.name == name)) is not None


async def projects(session: AsyncSession, user_id: str | None) -> list[tuple[Project, str | None]]:
    own_membership = and_(Member.project_id == Project.id, Member.user_id == user_id)
    query = select(Project, Member.role).order_by(Project.name)
    query = (
        query.join(Member, own_membership) if user_id is not None else query.outerjoin(Member, own_membership)
    )
    return [(project, role) for project, role in await session.execute(query)]


async def invitations(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Invitation], bool]:
    query = select(Invitation).where(Invitation.project_id == project_id)
    query = newest_first(query, Invitation.created_at, Invitation.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def counts(session: AsyncSession, project_id: str) -> dict[str, Any]:
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
        count(BaseModel, base_models.visible_to(project_id)).label("models"),
        newest_demo.label("demo_job"),
    )
    return dict((await session.execute(query)).mappings().one())


async def end_makings(session: AsyncSession, maker_id: str, project_id: str) -> None:
    for table in (Invitation, SignInToken):
        await session.execute(delete(table).where(table.maker_id == maker_id, table.project_id == project_id))
