"""Keys made at start-up, one-time sign-in tokens, and browser sessions."""

import secrets
from datetime import timedelta
from pathlib import Path

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.auth import SESSION_LIFETIME, Principal, digest
from backend.ids import new_id
from backend.models import ApiKey, BrowserSession, Member, Project, SignInToken, now
from reinforge.errors import NotAuthenticated
from reinforge.platform.places import write_private

DEFAULT_PROJECT = "default"
TOKEN_LIFETIME = timedelta(hours=24)
LINK_LIFETIME = timedelta(minutes=10)


async def default_project(session: AsyncSession) -> Project:
    """The project `default`, made at the first start."""
    await session.execute(
        insert(Project)
        .values(id=new_id("proj_"), name=DEFAULT_PROJECT, created_at=now())
        .on_conflict_do_nothing(index_elements=["name"])
    )
    return (await session.scalars(select(Project).where(Project.name == DEFAULT_PROJECT))).one()


async def add_bootstrap_key(session: AsyncSession, secret: str) -> None:
    """REINFORGE_BOOTSTRAP_API_KEY becomes an owner key of the default project; the one before it is revoked."""
    project = await default_project(session)
    await session.execute(delete(ApiKey).where(ApiKey.name == "bootstrap", ApiKey.sha256 != digest(secret)))
    await session.execute(
        insert(ApiKey)
        .values(
            id=new_id("key_"),
            project_id=project.id,
            name="bootstrap",
            role="owner",
            sha256=digest(secret),
            prefix=secret[:6],
            created_at=now(),
        )
        .on_conflict_do_nothing(index_elements=["sha256"])
    )


async def write_sign_in_url(session: AsyncSession, base_url: str, path: Path) -> str:
    """A one-time address that signs a browser in as owner, also written to `path` for its owner's eyes.

    Earlier unused ones stop working; those of members stay.
    """
    project = await default_project(session)
    await session.execute(
        delete(SignInToken).where(SignInToken.project_id == project.id, SignInToken.member_id.is_(None))
    )
    url = new_sign_in_url(session, base_url, project.id, "owner", TOKEN_LIFETIME)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, url + "\n")
    return url


def new_sign_in_url(
    session: AsyncSession,
    base_url: str,
    project_id: str,
    role: str,
    lifetime: timedelta,
    member_id: str | None = None,
) -> str:
    """An address that signs one browser in, once."""
    token = secrets.token_urlsafe(30)
    session.add(
        SignInToken(
            sha256=digest(token),
            project_id=project_id,
            member_id=member_id,
            role=role,
            expires_at=now() + lifetime,
        )
    )
    return f"{base_url.rstrip('/')}/sign-in?token={token}"


async def open_browser_session(session: AsyncSession, token: str) -> tuple[str, Principal]:
    """The cookie's value for a one-time token (used up by this) or an API key. Raises NotAuthenticated."""
    used = await session.scalar(
        delete(SignInToken)
        .where(SignInToken.sha256 == digest(token), SignInToken.expires_at > now())
        .returning(SignInToken)
    )
    key = None
    if used is None:
        key = await session.scalar(
            select(ApiKey).where(ApiKey.sha256 == digest(token), ApiKey.revoked_at.is_(None))
        )
    origin = used or key
    if origin is None:
        raise NotAuthenticated(
            "The sign-in token or API key is unknown, used up or expired.",
            code="invalid_sign_in_token",
            hint="Ask an owner for a new sign-in address, restart the backend for one, or use an API key.",
        )
    who = Principal(
        key.id if key else "session", key.name if key else "owner", origin.role, origin.project_id
    )
    if used is not None and used.member_id is not None:
        member = await session.get_one(Member, used.member_id)
        member.last_seen_at = now()
        who = Principal(member.id, member.name, member.role, member.project_id, member.id)
    cookie = secrets.token_urlsafe(30)
    session.add(
        BrowserSession(
            sha256=digest(cookie),
            project_id=who.project_id,
            key_id=key.id if key else None,
            member_id=who.member_id,
            name=who.name,
            role=who.role,
            expires_at=now() + SESSION_LIFETIME,
        )
    )
    return cookie, who


async def close_browser_session(session: AsyncSession, cookie: str) -> None:
    await session.execute(delete(BrowserSession).where(BrowserSession.sha256 == digest(cookie)))


async def forget_expired(session: AsyncSession) -> None:
    """Delete browser sessions and sign-in tokens whose time is over."""
    await session.execute(delete(BrowserSession).where(BrowserSession.expires_at < now()))
    await session.execute(delete(SignInToken).where(SignInToken.expires_at < now()))
