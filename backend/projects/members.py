"""Members: people who sign in to the page. Owners add, change and remove them; a one-time address lets each in."""

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.auth import Principal
from backend.ids import new_id
from backend.keys.service import TOKEN_LIFETIME, new_sign_in_url
from backend.models import Member, SignInToken
from backend.projects import repository
from backend.projects.service import require_owner
from reinforge.errors import NotFound, StateConflict
from reinforge.schemas.keys import Role


async def page(
    session: AsyncSession, who: Principal, *, limit: int, after: str | None
) -> tuple[list[Member], bool]:
    """Newest first; for everyone of the project."""
    return await repository.members(session, who.project_id, limit=limit, after=after)


async def create(
    session: AsyncSession, who: Principal, base_url: str, name: str, role: Role
) -> tuple[Member, str]:
    """A new member and the address to give to them. Raises NotAllowed, StateConflict `member_exists`."""
    require_owner(who, "members")
    member = Member(id=new_id("mem_"), project_id=who.project_id, name=name, role=role)
    session.add(member)
    try:
        await session.flush()
    except IntegrityError as error:
        raise StateConflict(
            f"There is a member called {member.name!r} already.",
            code="member_exists",
            hint="Give the new one another name, or make a fresh sign-in address for the old one.",
            param="name",
        ) from error
    return member, _new_address(session, base_url, member)


async def change(session: AsyncSession, who: Principal, id: str, role: Role) -> Member:
    """Open sessions have the new role at once. Raises NotAllowed, NotFound."""
    member = await _get(session, who, id)
    member.role = role
    await session.flush()
    return member


async def remove(session: AsyncSession, who: Principal, id: str) -> None:
    """Ends their sessions and takes back their address. Raises NotAllowed, NotFound."""
    await session.delete(await _get(session, who, id))


async def renew_address(session: AsyncSession, who: Principal, base_url: str, id: str) -> tuple[Member, str]:
    """A fresh address; an unused one stops working. Raises NotAllowed, NotFound."""
    member = await _get(session, who, id)
    await session.execute(delete(SignInToken).where(SignInToken.member_id == member.id))
    return member, _new_address(session, base_url, member)


def _new_address(session: AsyncSession, base_url: str, member: Member) -> str:
    return new_sign_in_url(session, base_url, member.project_id, member.role, TOKEN_LIFETIME, member.id)


async def _get(session: AsyncSession, who: Principal, id: str) -> Member:
    require_owner(who, "members")
    member = await repository.find_member(session, who.project_id, id)
    if member is None:
        raise NotFound(
            f"There is no member {id}.", code="member_not_found", hint="List them with GET /api/v1/members."
        )
    return member
