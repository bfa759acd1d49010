"""Members of a project, managed by owners."""

from typing import cast

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, require_owner, require_scopes_of
from backend.data.database import lock_row
from backend.data.ids import new_id
from backend.http.conditional import Match
from backend.keys import repository as keys
from backend.models import Member, SignInToken, User
from backend.projects import repository
from backend.users import addresses
from reinforge.errors import NotFound, StateConflict
from reinforge.schemas.keys import Role
from reinforge.schemas.members import Member as MemberView

MemberAndUser = tuple[Member, User]


async def page(
    session: AsyncSession, who: Principal, *, limit: int, after: str | None
) -> tuple[list[MemberAndUser], bool]:
    return await repository.members(session, who.project_id, limit=limit, after=after)


async def create(
    session: AsyncSession, who: Principal, base_url: str, name: str, role: Role
) -> tuple[MemberAndUser, str]:
    require_owner(who, "members")
    require_scopes_of(who, role)
    if await repository.is_named(session, who.project_id, name):
        raise StateConflict(
            f"A member called {name!r} already exists.",
            code="member_exists",
            hint="Give the new one another name, or create a sign-in link for the existing one.",
            param="name",
        )
    user = User(id=new_id("user_"), name=name, administrator=False)
    session.add(user)
    await session.flush()
    member = await join(session, user, who.project_id, role)
    return (member, user), _address(session, who, base_url, member)


async def join(session: AsyncSession, user: User, project_id: str, role: str) -> Member:
    member = Member(id=new_id("mem_"), project_id=project_id, user_id=user.id, role=role)
    session.add(member)
    await session.flush()
    return member


async def change(session: AsyncSession, who: Principal, id: str, role: Role, match: Match) -> MemberAndUser:
    """Change a member's role at once; demoting an owner revokes their invitations and links."""
    member, user = await _owned(session, who, id)
    require_scopes_of(who, role)
    await lock_row(session, member)
    match.check(view(member, user))
    member.role = role
    await session.flush()
    if role != "owner":
        await repository.end_makings(session, user.id, member.project_id)
    return member, user


async def remove(session: AsyncSession, who: Principal, id: str) -> None:
    """Remove a member and the keys, invitations and links that the member made. A user without projects is
    deleted.
    """
    member, user = await _owned(session, who, id)
    await repository.end_makings(session, user.id, member.project_id)
    await keys.revoke_of(session, user.id, member.project_id)
    memberships = select(func.count()).where(Member.user_id == user.id, Member.id != member.id)
    if await session.scalar(memberships) or user.administrator:
        delete_links = delete(SignInToken).where(
            SignInToken.user_id == user.id, SignInToken.project_id == who.project_id
        )
        await session.execute(delete_links)
        await session.delete(member)
    else:
        await session.delete(member)
        await session.flush()
        await session.delete(user)


async def renew_address(
    session: AsyncSession, who: Principal, base_url: str, id: str, purpose: addresses.Purpose = "sign_in"
) -> tuple[MemberAndUser, str]:
    member, user = await _owned(session, who, id)
    require_scopes_of(who, cast(Role, member.role))
    await addresses.require_authority(session, who, user)
    await addresses.take_back(session, user.id)
    return (member, user), _address(session, who, base_url, member, purpose)


def view(member: Member, user: User) -> MemberView:
    return MemberView.model_validate(
        {
            "id": member.id,
            "user": user.id,
            "name": user.name,
            "email": user.email,
            "role": member.role,
            "created_at": member.created_at,
            "last_seen_at": user.last_seen_at,
        }
    )


def _address(
    session: AsyncSession,
    who: Principal,
    base_url: str,
    member: Member,
    purpose: addresses.Purpose = "sign_in",
) -> str:
    return addresses.new_address(
        session,
        base_url,
        member.project_id,
        addresses.TOKEN_LIFETIME,
        purpose=purpose,
        user_id=member.user_id,
        maker_id=who.maker_id,
        bound=not (who.administrator or who.user_id == member.user_id),
    )


async def _owned(session: AsyncSession, who: Principal, id: str) -> MemberAndUser:
    require_owner(who, "members")
    return await get(session, who, id)


async def get(session: AsyncSession, who: Principal, id: str) -> MemberAndUser:
    member_and_user = await repository.find_member(session, who.project_id, id)
    if member_and_user is None:
        raise NotFound(
            f"There is no member {id}.", code="member_not_found", hint="`reinforge member list` shows all."
        )
    return member_and_user
