"""Projects: lookup, creation, changes."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, digest, membership, unknown_project
from backend.access.auth import require_owner as require_owner  # re-exported for other rooms
from backend.data.database import flush_unique, lock_row
from backend.data.ids import new_id
from backend.http.conditional import Match
from backend.keys import service as keys
from backend.models import BrowserSession, Member, Project
from backend.projects import repository
from reinforge.errors import NotAllowed, StateConflict
from reinforge.report_card import conditions
from reinforge.schemas.keys import ApiKeyCreate
from reinforge.schemas.projects import Project as ProjectView
from reinforge.schemas.projects import ProjectAccess, ProjectCreate, ProjectUpdate


async def project(session: AsyncSession, who: Principal) -> Project:
    return await session.get_one(Project, who.project_id)


async def counts(session: AsyncSession, project_id: str) -> dict[str, Any]:
    return await repository.counts(session, project_id)


async def visible_projects(session: AsyncSession, who: Principal) -> list[ProjectAccess]:
    """The caller's projects, by name: all for administrators, a user's own, or that of any other key."""
    if who.administrator or who.user_id is not None:
        rows = await repository.projects(session, None if who.administrator else who.user_id)
    else:
        rows = [(await session.get_one(Project, who.project_id), who.role)]
    administrator_role = "owner" if who.administrator else None
    return [
        ProjectAccess.model_validate(
            {
                "id": project.id,
                "name": project.name,
                "required_card": project.required_card,
                "created_at": project.created_at,
                "role": administrator_role or role,
                "current": project.id == who.project_id,
            }
        )
        for project, role in rows
    ]


async def create(session: AsyncSession, who: Principal, body: ProjectCreate) -> tuple[Project, str | None]:
    require_owner(who, "projects")
    if who.user_id is None and not who.administrator:
        raise NotAllowed(
            "The API key of a project cannot create another project.",
            code="not_administrator",
            hint="Create it on the page, or with a key of an administrator of the platform.",
        )
    project = Project(id=new_id("proj_"), name=body.name)
    session.add(project)
    await _store_name(session, project)
    if who.user_id is not None:
        session.add(Member(id=new_id("mem_"), project_id=project.id, user_id=who.user_id, role="owner"))
    secret = None
    if body.with_key:
        key_request = ApiKeyCreate(name="first key", role="owner")
        _, secret = await keys.add(session, who, project.id, key_request)
    return project, secret


async def change(
    session: AsyncSession, who: Principal, id: str, body: ProjectUpdate, match: Match
) -> ProjectView:
    if body.required_card is not None:
        conditions.parse(body.required_card, "required_card")
    project = await owned(session, who, id)
    await lock_row(session, project)
    match.check(ProjectView.model_validate(project))
    if body.name is not None:
        project.name = body.name
    if "required_card" in body.model_fields_set:
        project.required_card = body.required_card
    await _store_name(session, project)
    return ProjectView.model_validate(project)


async def switch(session: AsyncSession, who: Principal, id: str, cookie: str | None) -> Project:
    project = await visible(session, who, id)
    browser = await session.get(BrowserSession, digest(cookie)) if cookie and who.user_id else None
    if browser is None:
        raise StateConflict(
            "Only the browser of a signed-in user can switch projects.",
            code="no_session",
            hint="An API key belongs to one project: use a key of the other one.",
        )
    browser.project_id = project.id
    return project


async def visible(session: AsyncSession, who: Principal, id: str) -> Project:
    project = await session.get(Project, id)
    if project is None or not await _role_in(session, who, id):
        raise unknown_project(id)
    return project


async def owned(session: AsyncSession, who: Principal, id: str) -> Project:
    project = await session.get(Project, id)
    role = await _role_in(session, who, id) if project is not None else None
    if project is None or role is None:
        raise unknown_project(id)
    if role != "owner":
        raise NotAllowed(
            f"The role {role} may not manage this project.", code="not_owner", hint="Ask one of its owners."
        )
    return project


async def _role_in(session: AsyncSession, who: Principal, id: str) -> str | None:
    if who.administrator:
        return "owner"
    if who.user_id is None:
        return who.role if who.project_id == id else None
    member = await membership(session, who.user_id, id)
    return member.role if member is not None else None


async def _store_name(session: AsyncSession, project: Project) -> None:
    name = project.name  # a failed flush expires the row's fields
    conflict = StateConflict(
        f"A project called {name!r} already exists.",
        code="project_exists",
        param="name",
        hint="Take another name.",
    )
    await flush_unique(session, conflict)
