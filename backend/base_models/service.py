"""Base models: added by a name and a source, described by the worker that looked at the files."""

import asyncio
import logging
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import repository
from backend.calls import Calls
from backend.database import Database
from backend.models import BaseModel
from reinforge.errors import InvalidInput, NotFound, ReinforgeError, StateConflict
from reinforge.schemas.resources import ModelCreate

log = logging.getLogger(__name__)

BUILTIN = {"starter-arith": "builtin:starter-arith"}
INSPECT_SECONDS = 900.0
"""Looking at a model includes downloading it from the hub."""
_BUILTIN_SECONDS = 30.0
_AGAIN_SECONDS = 2.0
_FACTS = (
    "architecture",
    "parameters",
    "context_length",
    "has_chat_template",
    "chat_template_source",
    "vocabulary",
    "lora_targets",
    "bytes",
    "licence",
    "sha256",
)


async def get(session: AsyncSession, project_id: str, id: str) -> BaseModel:
    """A model that jobs may use; every project may use all. Raises NotFound `model_not_found` (param `model`)."""
    model = await repository.find(session, id)
    if model is None:
        hint = "List the models with `reinforge models list`; add one with `reinforge models add`."
        if id in BUILTIN:
            hint = "It appears by itself once `python -m worker calls` runs (`reinforge up` starts it)."
        raise NotFound(f"There is no base model {id!r}.", code="model_not_found", hint=hint, param="model")
    return model


async def get_usable(session: AsyncSession, project_id: str, id: str) -> BaseModel:
    """A model that a request names in its field `model`. Raises InvalidInput `model_not_found`, `model_not_ready`."""
    try:
        model = await get(session, project_id, id)
    except NotFound as error:
        raise InvalidInput(error.message, code=error.code, hint=error.hint, param="model") from error
    if model.status != "ready":
        raise InvalidInput(
            f"The base model {model.id} cannot be used: {model.error}",
            code="model_not_ready",
            param="model",
            hint="Repair its files and add it again with `reinforge models add`.",
        )
    return model


async def page(session: AsyncSession, *, limit: int, after: str | None) -> tuple[list[BaseModel], bool]:
    return await repository.page(session, limit=limit, after=after)


async def add(database: Database, calls: Calls, body: ModelCreate, created_by: str) -> BaseModel:
    """Have a worker look at the source and keep what it found; nothing is kept when it refuses.

    Raises InvalidInput (param `source`), StateConflict `model_exists`, Unavailable `no_worker` and others.
    """
    async with database.transaction() as session:
        existing = await repository.find(session, body.id)
    if existing is not None and (existing.source != body.source or body.id in BUILTIN):
        raise StateConflict(
            f"The model {body.id!r} exists already, from {existing.source}.",
            code="model_exists",
            hint="Give the new one another id.",
            param="id",
        )
    facts = await calls.ask("inspect_model", {"source": body.source}, timeout=INSPECT_SECONDS)
    values = _values(body.source, facts) | {"created_by": created_by}
    async with database.transaction() as session:
        return await repository.put(session, body.id, values, replace=True)


async def ensure_builtin(database: Database, calls: Calls, id: str) -> None:
    """Describe a built-in model now, for a job that comes before `seed_builtin` got round to it.

    Raises Unavailable `no_worker` and others; does nothing for other models.
    """
    if id not in BUILTIN:
        return
    async with database.transaction() as session:
        if await repository.find(session, id) is not None:
            return
    await _describe_builtin(database, calls, id)


async def _describe_builtin(database: Database, calls: Calls, id: str) -> None:
    source = BUILTIN[id]
    facts = await calls.ask("inspect_model", {"source": source}, timeout=_BUILTIN_SECONDS)
    async with database.transaction() as session:
        await repository.put(session, id, _values(source, facts), replace=True)


async def seed_builtin(database: Database, calls: Calls) -> None:
    """Describe the models that come with the worker, as soon as one is there to look; ends when it is done."""
    waiting = set(BUILTIN)
    while waiting:
        for id in sorted(waiting):
            try:
                await _describe_builtin(database, calls, id)
                waiting.remove(id)
            except (ReinforgeError, SQLAlchemyError) as error:
                log.debug("%s waits: %s", id, error)
        if waiting:
            await asyncio.sleep(_AGAIN_SECONDS)


def _values(source: str, facts: dict[str, Any]) -> dict[str, Any]:
    known = {key: facts.get(key) for key in _FACTS}
    known["has_chat_template"] = bool(facts.get("has_chat_template"))
    known["lora_targets"] = list(facts.get("lora_targets") or [])
    return {"source": source, "status": "ready", "error": None, **known}
