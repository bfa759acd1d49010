"""Who is asking: API keys, browser sessions of members and others, and the workers' shared secret.

Secrets have 160 or more random bits, so a plain SHA-256 at rest is enough. Roles: `viewer` reads, `member` also
changes things, `owner` also manages keys and members. Endpoints take a `Reader` or a `Writer`.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from sqlalchemy import select, update

from backend.database import Database, DatabaseDep
from backend.models import ApiKey, BrowserSession, Member, now
from backend.settings import Settings
from reinforge.errors import NotAllowed, NotAuthenticated

COOKIE = "reinforge_session"
SESSION_LIFETIME = timedelta(days=30)
ROLES = ("viewer", "member", "owner")
_USED_EVERY = timedelta(minutes=1)
"""How exactly `last_used_at` and `last_seen_at` are kept; a write for every request would serialise them."""


@dataclass(frozen=True)
class Principal:
    """Who sent the request, and for which project."""

    id: str
    """Of the API key or member; `session` for a browser that signed in with the address of start-up."""
    name: str
    role: str
    project_id: str
    member_id: str | None = None


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def new_api_key() -> str:
    return "rf-" + secrets.token_urlsafe(30)


def bearer(request: Request) -> str | None:
    """The token of the Authorization header; None without one."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


async def key_principal(database: Database, token: str) -> Principal | None:
    """Look an API key up; notes that it was used."""
    async with database.transaction() as session:
        key = await session.scalar(
            select(ApiKey).where(ApiKey.sha256 == digest(token), ApiKey.revoked_at.is_(None))
        )
        if key is None:
            return None
        if key.last_used_at is None or key.last_used_at < now() - _USED_EVERY:
            await session.execute(update(ApiKey).where(ApiKey.id == key.id).values(last_used_at=now()))
        return Principal(key.id, key.name, key.role, key.project_id)


async def _session_principal(database: Database, cookie: str) -> Principal | None:
    """Look a browser session up; notes that its member was seen."""
    async with database.transaction() as session:
        found = await session.execute(
            select(BrowserSession, ApiKey.revoked_at, Member)
            .outerjoin(ApiKey, ApiKey.id == BrowserSession.key_id)
            .outerjoin(Member, Member.id == BrowserSession.member_id)
            .where(BrowserSession.sha256 == digest(cookie), BrowserSession.expires_at > now())
        )
        row = found.one_or_none()
        if row is None or row.revoked_at is not None:
            return None
        browser: BrowserSession = row[0]
        member: Member | None = row[2]
        if member is None:
            return Principal(browser.key_id or "session", browser.name, browser.role, browser.project_id)
        if member.last_seen_at is None or member.last_seen_at < now() - _USED_EVERY:
            await session.execute(update(Member).where(Member.id == member.id).values(last_seen_at=now()))
        return Principal(member.id, member.name, member.role, member.project_id, member.id)


def check_same_origin(request: Request) -> None:
    """Refuse a cookie-bearing change that another site's page may have caused. Raises NotAllowed."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        same = site in ("same-origin", "none")
    else:
        same = origin is not None and urlsplit(origin).netloc == request.headers.get("host")
    if not same:
        raise NotAllowed(
            "This change was not asked for by a page of this server.",
            code="cross_origin",
            hint="Send an API key in the Authorization header instead of the session cookie.",
        )


async def authenticated(request: Request, database: DatabaseDep) -> Principal:
    """The principal of the request. Raises NotAuthenticated."""
    token = bearer(request)
    who: Principal | None = None
    if token is not None:
        who = await key_principal(database, token)
    elif cookie := request.cookies.get(COOKIE):
        who = await _session_principal(database, cookie)
        if who is not None and request.method not in ("GET", "HEAD", "OPTIONS"):
            check_same_origin(request)
    elif "authorization" not in request.headers:
        raise NotAuthenticated(
            "This needs an API key.",
            code="missing_api_key",
            hint="Send `Authorization: Bearer rf-…`, or sign in to the page with the address that start-up printed.",
        )
    if who is None:
        raise NotAuthenticated(
            "The API key or session is unknown, expired or revoked.",
            hint="Check REINFORGE_API_KEY, or sign in again.",
        )
    return who


async def _writer(who: Annotated[Principal, Depends(authenticated)]) -> Principal:
    if ROLES.index(who.role) < ROLES.index("member"):
        raise NotAllowed(
            f"The role {who.role} may read but not change.", hint="Use a key with the role member."
        )
    return who


Reader = Annotated[Principal, Depends(authenticated)]
"""Any role."""
Writer = Annotated[Principal, Depends(_writer)]
"""Members and owners."""


def get_settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


SettingsDep = Annotated[Settings, Depends(get_settings)]


async def worker_door(request: Request, settings: SettingsDep) -> None:
    """Only workers with the shared secret pass. Raises NotAuthenticated."""
    expected = settings.worker_token.get_secret_value() if settings.worker_token else None
    token = bearer(request)
    if expected is None or token is None or not hmac.compare_digest(token.encode(), expected.encode()):
        raise NotAuthenticated(
            "The worker token is missing or wrong.",
            code="invalid_worker_token",
            hint="Set REINFORGE_WORKER_TOKEN to the same value for the backend and its workers.",
        )
