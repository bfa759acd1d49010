"""Base models: addition, lookup, sharing, removal."""

import asyncio
import logging
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal
from backend.base_models import repository
from backend.base_models.adding import (
    Adder,
    Inspection,
    interrupted_failure,
    is_inspected,
    removed,
    silent,
    values_of,
)
from backend.base_models.sources import chosen_template, plain, same_source
from backend.data.database import Database
from backend.data.ids import new_id
from backend.data.sealing import Sealer
from backend.models import Adapter, BaseModel, Deployment, Job, now
from backend.rpc.client import Calls
from reinforge.base_models import learning_rate
from reinforge.base_models.memory import ModelShape, estimate
from reinforge.errors import InvalidInput, NotAllowed, NotFound, ReinforgeError, StateConflict
from reinforge.parsing.suggestions import did_you_mean
from reinforge.schemas.jobs import JobError
from reinforge.schemas.resources import BaseModelInfo, ModelCreate, ModelProgress
from reinforge.schemas.rpc.models import INSPECT_MODEL, InspectRequest

visible_to = repository.visible_to

log = logging.getLogger(__name__)

BUILTIN = {name: f"builtin:{name}" for name in ("starter-arith", "starter-tools")}
_BUILTIN_SECONDS = 30.0
_AGAIN_SECONDS = 2.0


async def get(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> BaseModel:
    model = await repository.find(session, project_id, id, lock=lock)
    if model is None:
        hint = "List the models with `reinforge models list`; add one with `reinforge models add`."
        if id in BUILTIN:
            hint = "It appears by itself once `python -m worker calls` runs (`reinforge up` starts it)."
        raise NotFound(f"There is no base model {id!r}.", code="model_not_found", hint=hint, param="model")
    return model


async def suggestion(session: AsyncSession, project_id: str, id: str) -> str | None:
    return did_you_mean(id, await repository.ids(session, project_id, 100))


async def get_usable(session: AsyncSession, project_id: str, id: str) -> BaseModel:
    try:
        model = await get(session, project_id, id)
    except NotFound as error:
        raise InvalidInput(error.message, code=error.code, hint=error.hint, param="model") from error
    return usable(model)


async def of(session: AsyncSession, row: Job | Adapter | Deployment) -> BaseModel:
    return await session.get_one(BaseModel, row.model_key)


def usable(model: BaseModel) -> BaseModel:
    if model.status != "ready":
        adding = model.status == "adding"
        raise InvalidInput(
            f"The base model {model.id} is still being added."
            if adding
            else f"The base model {model.id} cannot be used: {model.error}",
            code="model_not_ready",
            param="model",
            hint="`reinforge models list` shows its progress."
            if adding
            else "Repair its files and add it again with `reinforge models add`.",
        )
    return model


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[BaseModel], bool]:
    return await repository.page(session, project_id, limit=limit, after=after)


async def add(
    database: Database, adder: Adder, sealer: Sealer, body: ModelCreate, who: Principal, *, wait: bool
) -> BaseModel:
    async with database.transaction() as session:
        await repository.lock_name(session, body.id)
        existing = await repository.find(session, who.project_id, body.id)
        await _check_id(session, body, existing, who)
        new = existing is None or existing.status != "ready"
        keep = not wait or (new and existing is not None)
        inspection = _inspection(body, existing, sealer, who, new=new, keep_refusal=keep)
        values: dict[str, Any] = {"progress": {"phase": "waiting"}, "touched_at": now()}
        if new:
            values |= {
                "source": inspection.source_with_template,
                "status": "adding",
                "error": None,
                "lora_targets": [],
            }
            values |= {"has_chat_template": False, "created_by": who.name}
            # For when it is tried again; nobody else's look uses it.
            values |= {"token_sealed": inspection.token_sealed}
        if existing is None:
            session.add(BaseModel(key=inspection.key, id=inspection.id, project_id=who.project_id, **values))
        else:
            await repository.change(session, inspection.key, values)
    await adder.add(inspection, wait=wait)
    async with database.transaction() as session:
        model = await session.get(BaseModel, inspection.key)
        if model is None:
            raise removed(inspection)
        return model


async def _check_id(
    session: AsyncSession, body: ModelCreate, existing: BaseModel | None, who: Principal
) -> None:
    if body.id in BUILTIN:
        raise _exists(f"{body.id!r} comes with the platform.", "Give the new model another id.")
    if existing is None:
        if await repository.is_deployed(session, who.project_id, body.id):
            raise _deployed(
                body.id,
                "Requests use one namespace for models, deployments and aliases: give the model another id.",
            )
    elif existing.shared and not who.administrator:
        raise _exists(
            f"The model {body.id!r} exists already: all projects share it.",
            "Use it, or give the new one another id. An administrator may have a worker inspect it again.",
        )
    elif not same_source(existing.source, body.source):
        raise _exists(
            f"The model {body.id!r} exists already, from {existing.source}.", "Give the new one another id."
        )


def _exists(message: str, hint: str) -> StateConflict:
    return StateConflict(message, code="model_exists", hint=hint, param="id")


def _deployed(id: str, hint: str) -> StateConflict:
    return StateConflict(
        f"{id} is the name of a deployment or alias.", code="name_taken", hint=hint, param="id"
    )


def _inspection(
    body: ModelCreate,
    existing: BaseModel | None,
    sealer: Sealer,
    who: Principal,
    *,
    new: bool,
    keep_refusal: bool,
) -> Inspection:
    template = body.chat_template or chosen_template(body.source) or (None if new else _template(existing))
    key = new_id("mdl_") if existing is None else existing.key
    token = None if existing is None else existing.token_sealed
    if body.token is not None:
        token = sealer.seal(f"hub:{key}", body.token.get_secret_value())
    source = _source(body, existing)
    return Inspection(
        key,
        body.id,
        source,
        template,
        new=new,
        project_id=who.project_id,
        keep_refusal=keep_refusal,
        token_sealed=token,
        checked_before=not new
        and body.token is None
        and existing is not None
        and source == plain(existing.source),
        any_folder=who.administrator,
    )


def _source(body: ModelCreate, existing: BaseModel | None) -> str:
    requested = plain(body.source)
    pinned = existing is not None and existing.status == "ready" and "@" not in requested
    return plain(existing.source) if pinned and existing is not None else requested


def _template(existing: BaseModel | None) -> str | None:
    if existing is None:
        return None
    return chosen_template(existing.source) or (None if existing.has_chat_template else "bare")


async def share(session: AsyncSession, who: Principal, id: str) -> BaseModel:
    await repository.lock_name(session, id)
    model = await get(session, who.project_id, id, lock=True)
    _require_administrator(who, f"Only an administrator may share the model {id!r} with all projects.")
    if model.shared:
        return model
    if model.status != "ready" or is_inspected(model):
        raise StateConflict(
            f"The model {id!r} is not ready, or a worker is inspecting it.",
            code="model_not_ready",
            hint="Share it once it is ready and no longer being inspected.",
        )
    if await repository.others_named(session, model):
        raise StateConflict(
            f"Another project has a model called {id}.",
            code="name_taken",
            hint="Add this one under another id, and share that.",
            param="id",
        )
    if await repository.is_deployed(session, None, id):
        raise _deployed(
            id, "Requests use one namespace for models, deployments and aliases: share it under another id."
        )
    model.project_id = None
    return model


async def remove(session: AsyncSession, who: Principal, id: str) -> None:
    model = await get(session, who.project_id, id, lock=True)
    if model.shared:
        _require_administrator(
            who, f"All projects share the model {id!r}: only an administrator may remove it."
        )
    users = await repository.users(session, model.key)
    if users or (model.shared and id in BUILTIN):
        user = (
            f"{users.get(who.project_id, 'another project')} needs it"
            if users
            else "it comes with the worker"
        )
        raise StateConflict(
            f"The model {id!r} cannot be removed: {user}.",
            code="model_in_use",
            hint="A model stays as long as jobs, adapters or deployments refer to it.",
        )
    await session.delete(model)


def _require_administrator(who: Principal, message: str) -> None:
    if not who.administrator:
        raise NotAllowed(message, code="not_administrator", hint="Ask an administrator of the platform.")


async def hub_token(session: AsyncSession, key: str, sealer: Sealer) -> str | None:
    model = await session.get(BaseModel, key)
    if model is None or model.token_sealed is None or model.status != "ready":
        return None
    return sealer.open(f"hub:{key}", model.token_sealed)


def view(model: BaseModel) -> BaseModelInfo:
    info = BaseModelInfo.model_validate(model)
    progress = model.progress or {}
    failure = progress.get("error")
    if silent(model):
        failure = interrupted_failure()
        info.status, info.error = "failed", failure["message"]
    if failure is None and progress.get("phase"):
        info.progress = ModelProgress.model_validate(progress)
    info.failure = None if failure is None else JobError.model_validate(failure)
    info.has_token = model.token_sealed is not None
    if model.parameters is not None and model.shape is not None:
        shape = ModelShape.model_validate(model.shape)
        info.memory = estimate(model.parameters, shape, model.context_length)
    if (size := hidden_size(model)) is not None:
        info.auto_learning_rate = learning_rate.explained(size)
    return info


def hidden_size(model: BaseModel) -> int | None:
    return ModelShape.model_validate(model.shape or {}).hidden


async def ensure_builtin(database: Database, calls: Calls, id: str) -> None:
    if id not in BUILTIN:
        return
    async with database.transaction() as session:
        if await repository.find_shared(session, id) is not None:
            return
    await _describe_builtin(database, calls, id)


async def _describe_builtin(database: Database, calls: Calls, id: str) -> None:
    source = BUILTIN[id]
    facts = await calls.ask(INSPECT_MODEL, InspectRequest(source=source), timeout=_BUILTIN_SECONDS)
    async with database.transaction() as session:
        await repository.put_shared(session, id, values_of(source, facts))


async def seed_builtin(database: Database, calls: Calls) -> None:
    waiting = set(BUILTIN)
    while waiting:
        for id in sorted(waiting):
            try:
                await _describe_builtin(database, calls, id)
                waiting.remove(id)
            except (ReinforgeError, SQLAlchemyError) as error:
                log.debug("the built-in model %s is not ready yet: %s", id, error)
        if waiting:
            await asyncio.sleep(_AGAIN_SECONDS)
