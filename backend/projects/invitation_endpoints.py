"""Endpoints of invitations."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from backend.access.auth import (
    Principal,
    Reader,
    SettingsDep,
    Writer,
    check_same_origin,
    cookie_of,
    session_principal,
)
from backend.data.database import DatabaseDep, Session
from backend.http.cursors import encode_cursor
from backend.http.idempotency import OnceWhole
from backend.http.strict_json import StrictRoute
from backend.projects import invitations
from backend.users.endpoints import browsers, place, refuse_other_sites, signed_in
from reinforge.schemas.common import Page
from reinforge.schemas.members import (
    Invitation,
    InvitationCreate,
    InvitationMade,
    InvitationOffer,
    InvitationToken,
)
from reinforge.schemas.users import InvitationAccept, Me

router = APIRouter(prefix="/api/v1", tags=["project"], route_class=StrictRoute)


@router.get("/invitations", operation_id="listInvitations")
async def list_invitations(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[Invitation]:
    """Unused invitations, newest first, including expired ones that are not withdrawn. For owners."""
    rows, more = await invitations.page(session, who, limit=limit, after=after)
    cursor = encode_cursor(rows[-1].created_at, rows[-1].id) if more else None
    return Page(data=[Invitation.model_validate(row) for row in rows], has_more=more, next_cursor=cursor)


@router.post("/invitations", status_code=201, dependencies=[OnceWhole], operation_id="createInvitation")
async def create_invitation(
    body: InvitationCreate, session: Session, settings: SettingsDep, who: Writer
) -> InvitationMade:
    """Create a one-time link for one person to join the project. For owners."""
    row, url = await invitations.create(session, who, settings.url, body)
    return InvitationMade(**Invitation.model_validate(row).model_dump(), url=url)


@router.delete("/invitations/{id}", status_code=204, operation_id="withdrawInvitation")
async def withdraw_invitation(id: str, session: Session, who: Writer) -> None:
    """Invalidate the link. For owners."""
    await invitations.withdraw(session, who, id)


@router.post("/invitations/look", operation_id="lookAtInvitation")
async def look_at_invitation(
    body: InvitationToken, request: Request, session: Session, database: DatabaseDep
) -> InvitationOffer:
    """The project and role of an invitation, for anyone with its link. Does not use it up."""
    who = await _signed_in_user(request, database)  # first: it needs its own connection
    row, project = await invitations.look(session, body.token)
    return InvitationOffer.model_validate(
        {
            "project_name": project.name,
            "role": row.role,
            "expires_at": row.expires_at,
            "signed_in_as": who.name if who else None,
        }
    )


@router.post("/invitations/accept", operation_id="acceptInvitation")
async def accept_invitation(
    body: InvitationAccept, request: Request, response: Response, session: Session, database: DatabaseDep
) -> Me:
    """Join the project as the signed-in user, or as a new user, who is then signed in."""
    refuse_other_sites(request)
    who = await _signed_in_user(request, database)
    if who is not None:
        check_same_origin(request)
    user, project_id = await invitations.accept(session, body, who, place(request))
    cookie = await browsers(request, session).open_for(user, project_id)
    return await signed_in(request, response, session, cookie)


async def _signed_in_user(request: Request, database: DatabaseDep) -> Principal | None:
    cookie = cookie_of(request)
    who = await session_principal(database, cookie, None) if cookie else None
    return who if who is not None and who.user_id is not None else None
