"""API keys: shown once, stored as hashes."""

from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, digest, new_api_key, require_owner
from backend.data.ids import new_id
from backend.keys import repository
from backend.models import ApiKey, Project, now
from reinforge.errors import InvalidInput, NotAllowed, NotFound
from reinforge.schemas.keys import SCOPES_OF, ApiKeyCreate

DEFAULT_PROJECT = "default"
_PREFIX = 6


async def default_project(session: AsyncSession) -> Project:
    oldest = select(Project).order_by(Project.created_at, Project.id).limit(1)
    project = await session.scalar(oldest)
    if project is None:
        await session.execute(
            insert(Project)
            .values(id=new_id("proj_"), name=DEFAULT_PROJECT, created_at=now())
            .on_conflict_do_nothing(index_elements=["name"])
        )
        project = (await session.scalars(oldest)).one()
    return project


async def add_bootstrap_key(session: AsyncSession, secret: str) -> None:
    """Make REINFORGE_BOOTSTRAP_API_KEY an owner key of the first project; revoke the previous one."""
    project = await default_project(session)
    await session.execute(delete(ApiKey).where(ApiKey.name == "bootstrap", ApiKey.sha256 != digest(secret)))
    await session.execute(
        insert(ApiKey)
        .values(
            id=new_id("key_"),
            project_id=project.id,
            name="bootstrap",
            role="owner",
            administrator=True,
            sha256=digest(secret),
            prefix=secret[:_PREFIX],
            created_at=now(),
        )
        .on_conflict_do_nothing(index_elements=["sha256"])
    )


async def page(
    session: AsyncSession, who: Principal, *, limit: int, after: str | None
) -> tuple[list[ApiKey], bool]:
    require_owner(who, "API keys")
    return await repository.page(session, who.project_id, limit=limit, after=after)


async def create(session: AsyncSession, who: Principal, body: ApiKeyCreate) -> tuple[ApiKey, str]:
    require_owner(who, "API keys")
    _check_scopes(who, body)
    _check_administrator(who, body)
    return await add(session, who, who.project_id, body)


async def add(
    session: AsyncSession, who: Principal, project_id: str, body: ApiKeyCreate
) -> tuple[ApiKey, str]:
    secret = new_api_key()
    lifetime = body.expires_in_days
    key = ApiKey(
        id=new_id("key_"),
        project_id=project_id,
        name=body.name,
        role=body.role,
        scopes=list(dict.fromkeys(body.scopes)) if body.scopes is not None else None,
        administrator=body.administrator,
        sha256=digest(secret),
        prefix=secret[:_PREFIX],
        created_by=who.name,
        maker_id=who.maker_id,
        expires_at=None if lifetime is None else now() + timedelta(days=lifetime),
    )
    session.add(key)
    await session.flush()
    return key, secret


async def transfer(session: AsyncSession, who: Principal, id: str) -> ApiKey:
    require_owner(who, "API keys")
    key = await repository.find(session, who.project_id, id)
    if key is None:
        raise _unknown_key(id)
    rights = ApiKeyCreate.model_validate(
        {"name": key.name, "role": key.role, "scopes": key.scopes, "administrator": key.administrator}
    )
    _check_scopes(who, rights)
    _check_administrator(who, rights)
    key.maker_id = who.maker_id
    await session.flush()
    return key


async def revoke(session: AsyncSession, who: Principal, id: str) -> None:
    require_owner(who, "API keys")
    if not await repository.revoke(session, who.project_id, id):
        raise _unknown_key(id)


def _unknown_key(id: str) -> NotFound:
    return NotFound(f"There is no API key {id}.", code="key_not_found")


def _check_administrator(who: Principal, body: ApiKeyCreate) -> None:
    if not body.administrator:
        return
    if not who.administrator:
        raise NotAllowed(
            "Only an administrator may create an administrator key.",
            code="not_administrator",
            hint="Leave `administrator` out, or make it with the account or a key of an administrator of the platform.",
        )
    if body.role != "owner" or body.scopes is not None:
        raise InvalidInput(
            "An administrator key must have the role owner and no scopes.",
            code="invalid_administrator_key",
            param="administrator",
            hint="Give it the role owner and leave `scopes` out, or leave `administrator` out.",
        )


def _check_scopes(who: Principal, body: ApiKeyCreate) -> None:
    allowed = SCOPES_OF[body.role]
    if over := [scope for scope in body.scopes or () if scope not in allowed]:
        raise InvalidInput(
            f"A key with the role {body.role} cannot have the scope {over[0]}.",
            code="scope_over_role",
            param="scopes",
            hint=f"It may have: {', '.join(allowed)}.",
        )
    if who.scopes is not None and (body.scopes is None or not set(body.scopes) <= who.scopes):
        raise NotAllowed(
            "A key can only create keys with its own scopes or fewer.",
            code="scope_over_own",
            hint=f"Name some of its own scopes: {', '.join(sorted(who.scopes))}.",
        )
