"""Authentication: API keys, browser sessions, and the workers' shared token."""

import dataclasses
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access import quotas, scopes
from backend.data.database import Database, DatabaseDep
from backend.models import AgentRollout, ApiKey, BrowserSession, Job, Member, Project, User, now
from backend.settings import Settings
from reinforge.errors import NotAllowed, NotAuthenticated, NotFound, StateConflict
from reinforge.schemas.agent_rollouts import KEY_PREFIX
from reinforge.schemas.keys import SCOPES_OF, Role
from reinforge.schemas.worker_api import PROTOCOL, PROTOCOL_HEADER

COOKIE = "reinforge_session"
ROLLOUT_PATH = "/v1/rollout/"
PROJECT_HEADER = "x-reinforge-project"
SESSION_LIFETIME = timedelta(days=30)
SESSION_IDLE = timedelta(days=7)
"""Time without a request after which a browser has to sign in again."""
ROLES: tuple[Role, ...] = ("viewer", "editor", "owner")
_USED_EVERY = timedelta(minutes=1)
"""Shortest time between two writes of `last_used_at` or `last_seen_at`: one per request would serialise a
sender's requests.
"""


@dataclass(frozen=True)
class Principal:
    id: str
    name: str
    role: str
    project_id: str
    member_id: str | None = None
    user_id: str | None = None
    key_id: str | None = None
    administrator: bool = False
    maker_id: str | None = None
    """Id of the user whose rights limit what this principal creates."""
    scopes: frozenset[str] | None = None
    rollout_id: str | None = None
    """Id of the rollout, if the request has a rollout's key, which is valid only for `/v1/rollout/…`."""


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def new_api_key() -> str:
    return "rf-" + secrets.token_urlsafe(30)


def bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def cookie_name(request: Request) -> str:
    """Name of the session cookie. Over HTTPS it starts with `__Host-`, so that no other host of the domain
    can set it.
    """
    return f"__Host-{COOKIE}" if request.url.scheme == "https" else COOKIE


def cookie_of(request: Request) -> str | None:
    return request.cookies.get(cookie_name(request))


def session_works() -> ColumnElement[bool]:
    return and_(BrowserSession.expires_at > now(), BrowserSession.last_seen_at > now() - SESSION_IDLE)


async def principal_of_key(session: AsyncSession, *conditions: ColumnElement[bool]) -> Principal | None:
    row = await _valid_key(session, *conditions)
    return row and row[1]


async def _valid_key(
    session: AsyncSession, *conditions: ColumnElement[bool]
) -> tuple[ApiKey, Principal] | None:
    query = (
        select(ApiKey, Member.role, User.administrator)
        .outerjoin(User, User.id == ApiKey.maker_id)
        .outerjoin(Member, and_(Member.user_id == User.id, Member.project_id == ApiKey.project_id))
        .where(*conditions)
    )
    row = (await session.execute(query)).one_or_none()
    if row is None or not _works(row[0]):
        return None
    key, role, administrator = row
    if key.maker_id is None or administrator:
        return key, _of_key(key, key.role)
    return (key, _of_key(key, min(key.role, role, key=ROLES.index))) if role is not None else None


async def is_owner(session: AsyncSession, user_id: str, project_id: str) -> bool:
    user = await session.get(User, user_id, populate_existing=True)
    if user is None or user.administrator:
        return user is not None
    member = await membership(session, user_id, project_id)
    return member is not None and member.role == "owner"


def _of_key(key: ApiKey, role: str) -> Principal:
    narrowed = frozenset(key.scopes) if key.scopes is not None else None
    return Principal(
        key.id,
        key.name,
        role,
        key.project_id,
        key_id=key.id,
        administrator=key.administrator,
        maker_id=key.maker_id,
        scopes=narrowed,
    )


def _works(key: ApiKey) -> bool:
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > now())


async def key_principal(database: Database, token: str, project: str | None = None) -> Principal | None:
    """Find an API key and record its use. Raises NotFound if `project` is another project than the key's,
    except for administrators.
    """
    async with database.autocommit() as session:
        row = await _valid_key(session, ApiKey.sha256 == digest(token))
        if row is None:
            return None
        (key, who), noted_since = row, now() - _USED_EVERY
        if key.last_used_at is None or key.last_used_at < noted_since:
            unnoted = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < noted_since)
            await session.execute(
                update(ApiKey)
                .where(ApiKey.id == who.id, unnoted)
                .values(last_used_at=now())
                .execution_options(synchronize_session=False)
            )
        if project is None or project == who.project_id:
            return who
        if who.administrator and await session.get(Project, project) is not None:
            return dataclasses.replace(who, project_id=project)
        raise unknown_project(project)


async def session_principal(database: Database, cookie: str, project: str | None) -> Principal | None:
    async with database.autocommit() as session:
        return await principal_of(session, cookie, project)


async def principal_of(session: AsyncSession, cookie: str, project: str | None) -> Principal | None:
    rows = await session.execute(
        select(BrowserSession, User)
        .outerjoin(User, User.id == BrowserSession.user_id)
        .where(BrowserSession.sha256 == digest(cookie), session_works())
    )
    row = rows.one_or_none()
    if row is None:
        return None
    browser, user = row
    if browser.key_id is not None:
        of_key = await principal_of_key(session, ApiKey.id == browser.key_id)
        if of_key is not None and project is not None and project != of_key.project_id:
            raise unknown_project(project)
        who = of_key
    else:
        who = await _of_user(session, user, browser, project)
    if who is not None and browser.last_seen_at < now() - _USED_EVERY:
        last_use = update(BrowserSession).where(BrowserSession.sha256 == browser.sha256)
        await session.execute(last_use.values(last_seen_at=now()))
        if browser.key_id is None:
            await session.execute(update(User).where(User.id == user.id).values(last_seen_at=now()))
    return who


async def _of_user(
    session: AsyncSession, user: User, browser: BrowserSession, project: str | None
) -> Principal | None:
    project_id = project or browser.project_id
    member = await membership(session, user.id, project_id)
    if member is None and user.administrator:
        exists = await session.scalar(select(Project.id).where(Project.id == project_id))
        if exists is not None:
            return _user_principal(user, "owner", exists, None)
    if member is None and project is not None:
        raise unknown_project(project)
    if member is None:
        first_membership = (
            select(Member).where(Member.user_id == user.id).order_by(Member.created_at).limit(1)
        )
        member = await session.scalar(first_membership)
    if member is None:
        return None
    role = "owner" if user.administrator else member.role
    return _user_principal(user, role, member.project_id, member.id)


def _user_principal(user: User, role: str, project_id: str, member_id: str | None) -> Principal:
    return Principal(
        user.id,
        user.name,
        role,
        project_id,
        member_id=member_id,
        user_id=user.id,
        administrator=user.administrator,
        maker_id=user.id,
    )


async def membership(session: AsyncSession, user_id: str, project_id: str) -> Member | None:
    query = select(Member).where(Member.user_id == user_id, Member.project_id == project_id)
    member: Member | None = await session.scalar(query)
    return member


def unknown_project(project: str) -> NotFound:
    return NotFound(
        f"There is no project {project}.", code="project_not_found", hint="GET /api/v1/projects lists yours."
    )


def check_same_origin(request: Request) -> None:
    """Raise NotAllowed if another site's page sent this change, which a session cookie authenticates."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        same = site in ("same-origin", "none")
    else:
        same = origin is not None and urlsplit(origin).netloc == request.headers.get("host")
    if not same:
        raise NotAllowed(
            "The change does not come from a page of this server.",
            code="cross_origin",
            hint="Send an API key in the Authorization header instead of the session cookie.",
        )


async def identify(request: Request, database: Database, project: str | None = None) -> Principal:
    """Identify the sender from the headers; `project` replaces the project header. Raises NotAuthenticated,
    NotAllowed, NotFound.
    """
    token, project = bearer(request), project or request.headers.get(PROJECT_HEADER)
    who: Principal | None = None
    if token is not None and token.startswith(KEY_PREFIX):
        return await _rollout_principal(request, database, token)
    if token is not None:
        who = await key_principal(database, token, project)
    elif cookie := cookie_of(request):
        who = await session_principal(database, cookie, project)
        if who is not None and request.method not in scopes.SAFE:
            check_same_origin(request)
    elif "authorization" not in request.headers:
        raise NotAuthenticated(
            "This request needs an API key.",
            code="missing_api_key",
            hint="Send `Authorization: Bearer rf-…`, or sign in to the page with the address that start-up printed.",
        )
    if who is None:
        raise NotAuthenticated(
            "The API key or session is unknown, expired or revoked.",
            hint="Check REINFORGE_API_KEY, or sign in again.",
        )
    scopes.check(who.scopes, request.method, request.url.path)
    return who


async def _rollout_principal(request: Request, database: Database, token: str) -> Principal:
    if not request.url.path.startswith(ROLLOUT_PATH):
        raise NotAllowed(
            f"The key of a rollout is valid only for addresses under {ROLLOUT_PATH}.",
            code="rollout_key",
            hint="Use an API key of the project here.",
        )
    query = (
        select(AgentRollout.id, Job.project_id)
        .join(Job, Job.id == AgentRollout.job_id)
        .where(AgentRollout.key_sha256 == digest(token))
    )
    async with database.autocommit() as session:
        row = (await session.execute(query)).one_or_none()
    if row is None:
        raise NotAuthenticated(
            "The rollout has ended, or this is not its key.",
            code="rollout_ended",
            hint="Take another rollout and use its key.",
        )
    return Principal(row.id, "rollout", "viewer", row.project_id, rollout_id=row.id)


async def authenticated(request: Request, database: DatabaseDep) -> Principal:
    who = getattr(request.state, "principal", None)
    if not isinstance(who, Principal):
        who = request.state.principal = await identify(request, database)
    quotas.count(request, who.id, who.project_id)
    return who


async def _writer(who: Annotated[Principal, Depends(authenticated)]) -> Principal:
    if who.role == "viewer":
        raise NotAllowed(
            f"The role {who.role} may read but not change.", hint="Use a key with the role editor."
        )
    return who


Reader = Annotated[Principal, Depends(authenticated)]
Writer = Annotated[Principal, Depends(_writer)]


async def _rollout_key(who: Annotated[Principal, Depends(authenticated)]) -> str:
    if who.rollout_id is None:
        raise NotAllowed(
            "This endpoint needs a rollout key.",
            code="rollout_key_needed",
            hint="`POST /api/v1/jobs/{id}/rollouts/take` returns rollouts with their keys.",
        )
    return who.rollout_id


RolloutCaller = Annotated[str, Depends(_rollout_key)]
"""Id of the rollout whose key the request has."""


def require_owner(who: Principal, resource: str) -> None:
    if who.role != "owner":
        raise NotAllowed(
            f"The role {who.role} may not manage {resource}.",
            code="not_owner",
            hint="Ask an owner of the project.",
        )


def require_scopes_of(who: Principal, role: Role) -> None:
    """Raise NotAllowed if the key lacks a scope of `role`: such a key may not give people that role."""
    lacking = [] if who.scopes is None else [scope for scope in SCOPES_OF[role] if scope not in who.scopes]
    if lacking:
        raise NotAllowed(
            f"This API key may not give people the role {role}, which may do more than the key.",
            code="scope_over_own",
            hint=f"The key lacks: {', '.join(lacking)}. Sign in instead, or use a key that has these scopes.",
        )


async def get_settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


SettingsDep = Annotated[Settings, Depends(get_settings)]


async def require_worker(request: Request, settings: SettingsDep) -> None:
    if not is_worker_token(bearer(request), settings):
        raise unknown_worker()
    spoken = request.headers.get(PROTOCOL_HEADER, "0")
    if spoken != str(PROTOCOL):
        older = not spoken.isdecimal() or int(spoken) < PROTOCOL
        raise StateConflict(
            f"The worker uses version {spoken} of the worker API, the backend version {PROTOCOL}.",
            code="worker_version",
            hint=f"Update the {'worker' if older else 'backend'}: both must be of the same release.",
        )


def is_worker_token(token: str | None, settings: Settings) -> bool:
    accepted = [
        secret for secret in (settings.worker_token, settings.previous_worker_token) if secret is not None
    ]
    if token is None:
        return False
    equal = [hmac.compare_digest(token.encode(), secret.get_secret_value().encode()) for secret in accepted]
    return any(equal)


def is_scraper(request: Request) -> bool:
    secret, token = request.app.state.settings.metrics_token, bearer(request)
    if secret is None or token is None:
        return False
    return hmac.compare_digest(token.encode(), secret.get_secret_value().encode())


def unknown_worker() -> NotAuthenticated:
    return NotAuthenticated(
        "The worker token is missing or wrong.",
        code="invalid_worker_token",
        hint="Set REINFORGE_WORKER_TOKEN to the same value for the backend and its workers.",
    )
