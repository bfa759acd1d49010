"""Deletion of a project in one transaction."""

from sqlalchemy import Table, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal
from backend.data.database import lock_row
from backend.keys.service import default_project
from backend.models import Base, BrowserSession, Job, Member, Project, User
from backend.projects import service
from reinforge.errors import InvalidInput, StateConflict
from reinforge.states import LEASED


async def delete_project(session: AsyncSession, who: Principal, id: str, name: str) -> str:
    """Delete a project; returns the id of the oldest remaining one."""
    project = await service.owned(session, who, id)
    # From here on nothing can be added to the project: foreign keys wait for this lock.
    await lock_row(session, project)
    if name != project.name:
        raise InvalidInput(
            "`name` is not the project's name.",
            code="name_differs",
            param="name",
            hint="Deleting cannot be undone: send the name of the project.",
        )
    if await session.scalar(select(func.count()).select_from(Project)) == 1:
        raise StateConflict(
            "The only project cannot be deleted.", code="last_project", hint="Create another one first."
        )
    await _check_idle(session, id)
    await _move_sessions(session, id)
    for table in reversed(Base.metadata.sorted_tables):
        if _belongs(table):
            await session.execute(delete(table).where(table.c.project_id == id))
    await session.delete(project)
    await session.flush()
    await _forget_strangers(session)
    return (await default_project(session)).id


def _belongs(table: Table) -> bool:
    return "project_id" in table.c


async def _check_idle(session: AsyncSession, id: str) -> None:
    jobs = await session.execute(select(Job.id, Job.status).where(Job.project_id == id).with_for_update())
    leased_ids = [row.id for row in jobs if row.status in LEASED]
    if leased_ids:
        raise StateConflict(
            f"Workers still run {len(leased_ids)} of the project's jobs: {', '.join(leased_ids[:5])}.",
            code="project_busy",
            hint="Cancel them, and delete the project once they have stopped.",
        )


async def _move_sessions(session: AsyncSession, id: str) -> None:
    other_project = (
        select(Member.project_id)
        .where(Member.user_id == BrowserSession.user_id, Member.project_id != id)
        .order_by(Member.created_at)
        .limit(1)
        .scalar_subquery()
    )
    update_sessions = update(BrowserSession).where(
        BrowserSession.project_id == id, other_project.is_not(None)
    )
    await session.execute(
        update_sessions.values(project_id=other_project).execution_options(synchronize_session=False)
    )


async def _forget_strangers(session: AsyncSession) -> None:
    lost = ~select(Member.id).where(Member.user_id == User.id).exists()
    await session.execute(
        delete(User).where(lost, ~User.administrator).execution_options(synchronize_session=False)
    )
