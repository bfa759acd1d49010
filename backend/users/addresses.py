"""One-time links for signing in or setting a password."""

import secrets
from datetime import timedelta
from pathlib import Path
from typing import Literal

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, digest, is_owner
from backend.data.database import lock_row
from backend.data.ids import new_id
from backend.keys.service import default_project
from backend.models import Member, SignInToken, User, now
from reinforge.errors import NotAllowed, NotAuthenticated
from reinforge.platform.places import write_private

Purpose = Literal["sign_in", "start", "reset"]
TOKEN_LIFETIME = timedelta(hours=24)
LINK_LIFETIME = timedelta(minutes=10)
_PAGES: dict[Purpose, str] = {"sign_in": "sign-in", "start": "sign-in", "reset": "reset-password"}


def new_address(
    session: AsyncSession,
    base_url: str,
    project_id: str,
    lifetime: timedelta,
    *,
    purpose: Purpose = "sign_in",
    user_id: str | None = None,
    key_id: str | None = None,
    maker_id: str | None = None,
    bound: bool = False,
) -> str:
    token = secrets.token_urlsafe(30)
    row = SignInToken(
        sha256=digest(token),
        purpose=purpose,
        project_id=project_id,
        user_id=user_id,
        key_id=key_id,
        maker_id=maker_id,
        bound=bound,
        expires_at=now() + lifetime,
    )
    session.add(row)
    return f"{base_url.rstrip('/')}/{_PAGES[purpose]}?token={token}"


async def look(session: AsyncSession, token: str, *purposes: Purpose) -> SignInToken | None:
    offered: SignInToken | None = await session.scalar(select(SignInToken).where(*_offers(token, purposes)))
    return offered if offered is not None and await _is_authorised(session, offered) else None


async def _is_authorised(session: AsyncSession, row: SignInToken) -> bool:
    """Whether the link still works: if another user made it, that user is an owner; a `bound` user is in no
    other project.
    """
    if row.user_id is None:
        return True  # of a key, which is looked up by itself
    made_for_other = row.maker_id is not None and row.maker_id != row.user_id
    if made_for_other and not await is_owner(session, str(row.maker_id), row.project_id):
        return False
    if not row.bound:
        return True
    user = await session.get_one(User, row.user_id, populate_existing=True)
    projects = set(await session.scalars(select(Member.project_id).where(Member.user_id == user.id)))
    return not user.administrator and projects == {row.project_id}


def _offers(token: str, purposes: tuple[Purpose, ...]) -> tuple[ColumnElement[bool], ...]:
    return (
        SignInToken.sha256 == digest(token),
        SignInToken.purpose.in_(purposes),
        SignInToken.expires_at > now(),
    )


async def use(session: AsyncSession, token: str, *purposes: Purpose) -> SignInToken | None:
    used: SignInToken | None = await session.scalar(
        delete(SignInToken).where(*_offers(token, purposes)).returning(SignInToken)
    )
    return used if used is not None and await _is_authorised(session, used) else None


async def take_back(session: AsyncSession, user_id: str) -> None:
    await session.execute(delete(SignInToken).where(SignInToken.user_id == user_id))


async def write_start_address(session: AsyncSession, base_url: str, path: Path) -> str:
    project = await default_project(session)
    await session.execute(delete(SignInToken).where(SignInToken.purpose == "start"))
    url = new_address(session, base_url, project.id, TOKEN_LIFETIME, purpose="start")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, url + "\n")
    return url


async def starter(session: AsyncSession) -> User:
    project = await default_project(session)
    # The project's row lock keeps two first sign-ins from making two of them.
    await lock_row(session, project)
    query = select(User).where(User.administrator).order_by(User.created_at).limit(1)
    user = await session.scalar(query)
    if user is None:
        user = User(id=new_id("user_"), name="owner", administrator=True)
        session.add(user)
        await session.flush()
        session.add(Member(id=new_id("mem_"), project_id=project.id, user_id=user.id, role="owner"))
        await session.flush()
    return user


async def require_authority(session: AsyncSession, who: Principal, user: User) -> None:
    """Check that `who`, an owner, may create links that act as `user`. Raises NotAllowed."""
    if who.administrator or who.user_id == user.id:
        return
    elsewhere = select(Member.id).where(Member.user_id == user.id, Member.project_id != who.project_id)
    if user.administrator or await session.scalar(elsewhere.limit(1)) is not None:
        raise NotAllowed(
            f"{user.name} belongs to other projects too: a link made here would give access to those.",
            code="user_of_other_projects",
            hint="Ask an administrator of the platform for a link.",
        )


def not_valid(credential: str = "sign-in token or API key") -> NotAuthenticated:
    return NotAuthenticated(
        f"The {credential} is unknown, used up or expired.",
        code="invalid_sign_in_token",
        hint="Ask an owner for a new link, restart the backend to get one, or use an API key.",
    )
