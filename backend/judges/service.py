"""LLM judges, whose API keys are decrypted only for a worker that calls the judge."""

import base64
from collections.abc import Iterable
from typing import Any

from pydantic import SecretStr, ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, require_owner
from backend.data.database import flush_unique, lock_row
from backend.data.ids import new_id
from backend.data.sealing import Sealer
from backend.http import addresses
from backend.http.conditional import Match
from backend.judges import repository
from backend.models import JudgeRow, now
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.net.outbound import ALLOW_VARIABLE, Guard
from reinforge.net.webhook_signature import PREFIX
from reinforge.reward_spec.judges import Judge
from reinforge.schemas.judges import JudgeChange, JudgeCreate, JudgeInfo

_CONNECTION = (
    "base_url", "model", "input_price", "output_price", "structured", "concurrency", "timeout_seconds", "retries",
)  # fmt: skip


async def all_of(session: AsyncSession, project_id: str) -> list[JudgeInfo]:
    return [view(row) for row in await repository.of_project(session, project_id)]


async def get(session: AsyncSession, project_id: str, id: str) -> JudgeRow:
    row = await repository.find(session, project_id, id)
    if row is None:
        raise NotFound(
            f"There is no judge {id}.",
            code="judge_not_found",
            hint="`reinforge judge list` shows all.",
        )
    return row


async def check_address(guard: Guard, who: Principal, base_url: str) -> None:
    """Resolves names: use outside transactions. Workers check it again. Raises NotAllowed, InvalidInput."""
    require_owner(who, "judges")
    _checked({"base_url": base_url, "model": "any"})
    hint = f"{ALLOW_VARIABLE} has to be set for the backend and for the workers, which call the judge."
    await addresses.check_address(guard, base_url, param="base_url", hint=hint)


async def create(session: AsyncSession, who: Principal, body: JudgeCreate, sealer: Sealer) -> JudgeRow:
    require_owner(who, "judges")
    row = JudgeRow(
        id=new_id("judge_"),
        project_id=who.project_id,
        name=body.name,
        key_sealed=None,
        created_by=who.name,
        **_checked(body.model_dump(include=set(_CONNECTION))),
    )
    _keep_key(row, body.api_key, sealer)
    session.add(row)
    conflict = StateConflict(
        f"There is a judge called {body.name!r} already.",
        code="judge_exists",
        param="name",
        hint="Change it, or give the new one another name.",
    )
    await flush_unique(session, conflict)
    return row


async def change(
    session: AsyncSession, who: Principal, id: str, body: JudgeChange, sealer: Sealer, match: Match
) -> JudgeRow:
    """A new address needs the key again, so that changing it cannot reveal the key."""
    require_owner(who, "judges")
    row = await get(session, who.project_id, id)
    await lock_row(session, row)
    match.check(view(row))
    changes = body.model_dump(include=set(_CONNECTION), exclude_none=True)
    fields = _checked({name: getattr(row, name) for name in _CONNECTION} | changes)
    if fields["base_url"] != row.base_url and row.key_sealed and "api_key" not in body.model_fields_set:
        raise InvalidInput(
            "The new address of the judge needs the API key again.",
            code="key_needed",
            param="api_key",
            hint="Send `api_key` with `base_url`; null means that the judge needs no key.",
        )
    for name, value in fields.items():
        setattr(row, name, value)
    if "api_key" in body.model_fields_set:
        _keep_key(row, body.api_key, sealer)
    row.updated_at = now()
    await session.flush()
    return row


async def remove(session: AsyncSession, who: Principal, id: str) -> None:
    require_owner(who, "judges")
    await session.delete(await get(session, who.project_id, id))


async def missing(session: AsyncSession, project_id: str, names: Iterable[str]) -> list[str]:
    requested = set(names)
    return (
        sorted(requested - set(await repository.named(session, project_id, requested))) if requested else []
    )


async def delivered(
    session: AsyncSession, project_id: str, names: Iterable[str], sealer: Sealer
) -> tuple[dict[str, Judge], dict[str, str]]:
    """Connections and keys of judges by name, for a worker; unknown names are omitted. Raises Unavailable."""
    rows = await repository.named(session, project_id, set(names))
    judges = {
        name: Judge.model_validate({field: getattr(row, field) for field in _CONNECTION})
        for name, row in rows.items()
    }
    keys = {
        name: sealer.open(f"judge:{row.id}", row.key_sealed) for name, row in rows.items() if row.key_sealed
    }
    return judges, keys


def signing_secret(project_id: str, sealer: Sealer) -> str:
    return PREFIX + base64.b64encode(sealer.derived(f"endpoints:{project_id}")).decode()


def own_signing_secret(who: Principal, sealer: Sealer) -> str:
    require_owner(who, "the signing secret")
    return signing_secret(who.project_id, sealer)


def view(row: JudgeRow) -> JudgeInfo:
    fields: dict[str, Any] = {name: getattr(row, name) for name in _CONNECTION}
    return JudgeInfo(
        id=row.id,
        name=row.name,
        has_key=row.key_sealed is not None,
        created_by=row.created_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        **fields,
    )


def _connection(row: JudgeRow) -> Judge:
    return Judge.model_validate({name: getattr(row, name) for name in _CONNECTION})


def _checked(fields: dict[str, Any]) -> dict[str, Any]:
    try:
        return Judge.model_validate(fields).model_dump(include=set(_CONNECTION))
    except ValidationError as error:
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"{param}: {str(first['msg']).removeprefix('Value error, ')}", code="invalid_judge", param=param
        ) from error


def _keep_key(row: JudgeRow, key: SecretStr | None, sealer: Sealer) -> None:
    row.key_sealed = None if key is None else sealer.seal(f"judge:{row.id}", key.get_secret_value())
