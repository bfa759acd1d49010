"""Endpoints of members."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from backend.access.auth import Reader, SettingsDep, Writer
from backend.data.database import Session
from backend.http.conditional import IfMatch, tagged
from backend.http.cursors import encode_cursor
from backend.http.idempotency import OnceWhole
from backend.http.strict_json import StrictRoute
from backend.projects import members, service
from reinforge.schemas.common import Page
from reinforge.schemas.members import Member, MemberCreate, MemberInvited, MemberUpdate, ProjectCounts

router = APIRouter(prefix="/api/v1", tags=["project"], route_class=StrictRoute)


def _invited(member_and_user: members.MemberAndUser, url: str) -> MemberInvited:
    return MemberInvited(**members.view(*member_and_user).model_dump(), url=url)


@router.get("/project/counts", operation_id="getProjectCounts")
async def counts(session: Session, who: Reader) -> ProjectCounts:
    """Number of objects of each kind in the project."""
    return ProjectCounts.model_validate(await service.counts(session, who.project_id))


@router.get("/members", operation_id="listMembers")
async def list_members(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[Member]:
    """Members of the project, newest first."""
    rows, more = await members.page(session, who, limit=limit, after=after)
    cursor = encode_cursor(rows[-1][0].created_at, rows[-1][0].id) if more else None
    return Page(data=[members.view(*row) for row in rows], has_more=more, next_cursor=cursor)


@router.post("/members", status_code=201, dependencies=[OnceWhole], operation_id="createMember")
async def create_member(
    body: MemberCreate, session: Session, settings: SettingsDep, who: Writer
) -> MemberInvited:
    """Add a person; the response holds the one-time link to give to them. For owners."""
    return _invited(*await members.create(session, who, settings.url, body.name, body.role))


@router.get("/members/{id}", operation_id="getMember")
async def get_member(id: str, response: Response, session: Session, who: Reader) -> Member:
    return tagged(members.view(*await members.get(session, who, id)), response)


@router.patch("/members/{id}", operation_id="updateMember")
async def update_member(
    id: str, body: MemberUpdate, response: Response, session: Session, match: IfMatch, who: Writer
) -> Member:
    """Change the role, effective at once for open sessions. For owners."""
    return tagged(members.view(*await members.change(session, who, id, body.role, match)), response)


@router.delete("/members/{id}", status_code=204, operation_id="removeMember")
async def remove_member(id: str, session: Session, who: Writer) -> None:
    """Remove a person from the project at once. For owners."""
    await members.remove(session, who, id)


@router.post("/members/{id}/sign-in-link", dependencies=[OnceWhole], operation_id="createMemberSignInLink")
async def create_link(id: str, session: Session, settings: SettingsDep, who: Writer) -> MemberInvited:
    """A new one-time sign-in link for a member. For owners.

    403 `user_of_other_projects` for a member of other projects: the link would give access to those.
    """
    return _invited(*await members.renew_address(session, who, settings.url, id))


@router.post("/members/{id}/password-reset", dependencies=[OnceWhole], operation_id="createPasswordReset")
async def create_reset(id: str, session: Session, settings: SettingsDep, who: Writer) -> MemberInvited:
    """A one-time link for setting a new password. For owners. 403 `user_of_other_projects` as for a sign-in
    link.
    """
    return _invited(*await members.renew_address(session, who, settings.url, id, "reset"))
