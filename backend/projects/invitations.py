"""Invitations: one-time links for joining a project."""

import secrets
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, digest, is_owner, membership, require_owner, require_scopes_of
from backend.data.ids import new_id
from backend.models import Invitation, Project, User, now
from backend.projects import members, repository
from backend.users import addresses, attempts, passwords, service
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.schemas.members import InvitationCreate
from reinforge.schemas.users import InvitationAccept


async def page(
    session: AsyncSession, who: Principal, *, limit: int, after: str | None
) -> tuple[list[Invitation], bool]:
    require_owner(who, "invitations")
    return await repository.invitations(session, who.project_id, limit=limit, after=after)


async def create(
    session: AsyncSession, who: Principal, base_url: str, body: InvitationCreate
) -> tuple[Invitation, str]:
    require_owner(who, "invitations")
    require_scopes_of(who, body.role)
    token = secrets.token_urlsafe(30)
    row = Invitation(
        id=new_id("inv_"),
        project_id=who.project_id,
        sha256=digest(token),
        role=body.role,
        note=body.note,
        created_by=who.name,
        maker_id=who.maker_id,
        expires_at=now() + timedelta(days=body.expires_in_days),
    )
    session.add(row)
    await session.flush()
    return row, f"{base_url.rstrip('/')}/join?token={token}"


async def withdraw(session: AsyncSession, who: Principal, id: str) -> None:
    require_owner(who, "invitations")
    result = await session.execute(
        delete(Invitation)
        .where(Invitation.id == id, Invitation.project_id == who.project_id)
        .returning(Invitation.id)
    )
    if result.first() is None:
        raise NotFound(f"There is no invitation {id}.", code="invitation_not_found")


async def look(session: AsyncSession, token: str) -> tuple[Invitation, Project]:
    query = select(Invitation).where(Invitation.sha256 == digest(token), Invitation.expires_at > now())
    row = await session.scalar(query)
    if row is None or not await _is_authorised(session, row):
        raise _not_valid()
    return row, await session.get_one(Project, row.project_id)


async def accept(
    session: AsyncSession, body: InvitationAccept, who: Principal | None, place: str
) -> tuple[User, str]:
    signed_in = who is not None and who.user_id is not None
    password = None if signed_in else await _hashed_password(session, body, place)
    used = await session.scalar(
        delete(Invitation)
        .where(Invitation.sha256 == digest(body.token), Invitation.expires_at > now())
        .returning(Invitation)
    )
    if used is None or not await _is_authorised(session, used):
        raise _not_valid()
    if who is not None and who.user_id is not None:
        user = await session.get_one(User, who.user_id)
        if await membership(session, user.id, used.project_id) is not None:
            raise StateConflict(
                f"{user.name} is already a member of the project.",
                code="member_exists",
                hint="Leave the invitation to the person whom it is for.",
            )
        # What an owner of another project may have opened or made for this person does not see the new one.
        await service.end_sessions(session, user.id)
        await addresses.take_back(session, user.id)
    else:
        user = await _new_user(session, body, password)
    await members.join(session, user, used.project_id, used.role)
    return user, used.project_id


async def _hashed_password(session: AsyncSession, body: InvitationAccept, place: str) -> str | None:
    await look(session, body.token)
    if body.name is None:
        raise InvalidInput("A new user needs a name.", code="name_needed", param="name")
    if body.email is not None:
        await attempts.count_address(session, digest(body.token), place)
    if body.password is None:
        return None
    if body.email is None:
        raise service.email_needed()
    await session.commit()
    password = body.password.get_secret_value()
    return await passwords.hashed(password, name=body.name, email=body.email, place=place)


async def _new_user(session: AsyncSession, body: InvitationAccept, password: str | None) -> User:
    assert body.name is not None
    user = User(id=new_id("user_"), name=body.name, administrator=False)
    session.add(user)
    await session.flush()
    if body.email is not None:
        await service.set_email(session, user, body.email)
    user.password = password
    return user


async def _is_authorised(session: AsyncSession, row: Invitation) -> bool:
    return row.maker_id is None or await is_owner(session, row.maker_id, row.project_id)


def _not_valid() -> NotFound:
    return NotFound(
        "This invitation is unknown, used up, withdrawn or expired.",
        code="invitation_not_found",
        hint="Ask an owner of the project for a new one.",
    )
