"""Views of accounts and sessions."""

from typing import cast

from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import SESSION_IDLE, Principal, digest
from backend.models import BrowserSession as BrowserRow
from backend.models import Project, User
from reinforge import __version__
from reinforge.schemas.keys import SCOPES, Role, Scope
from reinforge.schemas.users import BrowserSession, Me


async def me(session: AsyncSession, who: Principal, *, lock: bool = False) -> Me:
    project = await session.get_one(Project, who.project_id)
    user = await session.get(User, who.user_id, with_for_update=lock) if who.user_id else None
    scopes: list[Scope] | None = None
    if who.scopes is not None:
        scopes = [scope for scope in SCOPES if scope in who.scopes]
    return Me(
        key=who.id,
        name=user.name if user else who.name,
        role=cast(Role, who.role),
        scopes=scopes,
        project=project.id,
        project_name=project.name,
        version=__version__,
        member=who.member_id,
        user=who.user_id,
        email=user.email if user else None,
        has_password=user is not None and user.password is not None,
        administrator=who.administrator,
    )


def browser(row: BrowserRow, cookie: str | None) -> BrowserSession:
    return BrowserSession(
        id=row.id,
        agent=row.agent,
        current=cookie is not None and digest(cookie) == row.sha256,
        created_at=row.created_at,
        last_seen_at=row.last_seen_at,
        expires_at=min(row.expires_at, row.last_seen_at + SESSION_IDLE),
    )
