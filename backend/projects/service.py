"""The project, and its API keys: made and revoked by owners; the secret is shown once and kept as a hash."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.auth import Principal, digest, new_api_key
from backend.ids import new_id
from backend.models import ApiKey, Project
from backend.projects import repository
from reinforge.errors import NotAllowed, NotFound
from reinforge.schemas.keys import Role

_PREFIX = 6


async def project(session: AsyncSession, who: Principal) -> Project:
    """The asker's project."""
    return await session.get_one(Project, who.project_id)


async def counts(session: AsyncSession, project_id: str) -> dict[str, Any]:
    """How many things of each kind there are, and the newest demo job."""
    return await repository.counts(session, project_id)


def require_owner(who: Principal, what: str = "API keys") -> None:
    """Raises NotAllowed `not_owner`."""
    if who.role != "owner":
        raise NotAllowed(
            f"The role {who.role} may not manage {what}.",
            code="not_owner",
            hint="Ask an owner of the project.",
        )


async def page(
    session: AsyncSession, who: Principal, *, limit: int, after: str | None
) -> tuple[list[ApiKey], bool]:
    """Keys that work, newest first. Raises NotAllowed."""
    require_owner(who)
    return await repository.page(session, who.project_id, limit=limit, after=after)


async def create(session: AsyncSession, who: Principal, name: str, role: Role) -> tuple[ApiKey, str]:
    """A new key and its secret. Raises NotAllowed."""
    require_owner(who)
    secret = new_api_key()
    key = ApiKey(
        id=new_id("key_"),
        project_id=who.project_id,
        name=name,
        role=role,
        sha256=digest(secret),
        prefix=secret[:_PREFIX],
    )
    session.add(key)
    await session.flush()
    return key, secret


async def revoke(session: AsyncSession, who: Principal, id: str) -> None:
    """End a key and the browser sessions that were opened with it. Raises NotAllowed, NotFound `key_not_found`."""
    require_owner(who)
    if not await repository.revoke(session, who.project_id, id):
        raise NotFound(f"There is no API key {id}.", code="key_not_found")
