"""Base models: added by a name and a source, described by the worker that looked at the files."""

import asyncio
import logging
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend.auth import Principal
from backend.base_models import repository
from backend.base_models.adding import Adder, Asked, interrupted_failure, silent, values_of
from backend.base_models.sources import chosen_template, plain, same_source
from backend.calls import Calls
from backend.database import Database
from backend.models import BaseModel, now
from backend.sealing import Sealer
from reinforge import learning_rate
from reinforge.errors import InvalidInput, NotFound, ReinforgeError, StateConflict
from reinforge.memory import ModelShape, estimate
from reinforge.schemas.jobs import JobError
from reinforge.schemas.resources import BaseModelInfo, ModelCreate, ModelProgress
from reinforge.suggestions import did_you_mean

log = logging.getLogger(__name__)

BUILTIN = {"starter-arith": "builtin:starter-arith"}
_BUILTIN_SECONDS = 30.0
_AGAIN_SECONDS = 2.0


async def get(session: AsyncSession, project_id: str, id: str) -> BaseModel:
    """A model that jobs may use; every project may use all. Raises NotFound `model_not_found` (param `model`)."""
    model = await repository.find(session, id)
    if model is None:
        hint = "List the models with `reinforge models list`; add one with `reinforge models add`."
        if id in BUILTIN:
            hint = "It appears by itself once `python -m worker calls` runs (`reinforge up` starts it)."
        raise NotFound(f"There is no base model {id!r}.", code="model_not_found", hint=hint, param="model")
    return model


async def suggestion(session: AsyncSession, id: str) -> str | None:
    """A sentence for whoever named a model that is not there: the nearest one, or all if they are few."""
    return did_you_mean(id, await repository.ids(session, 100))


async def get_usable(session: AsyncSession, project_id: str, id: str) -> BaseModel:
    """A model that a request names in its field `model`. Raises InvalidInput `model_not_found`, `model_not_ready`."""
    try:
        model = await get(session, project_id, id)
    except NotFound as error:
        raise InvalidInput(error.message, code=error.code, hint=error.hint, param="model") from error
    if model.status != "ready":
        adding = model.status == "adding"
        raise InvalidInput(
            f"The base model {model.id} is still being added."
            if adding
            else f"The base model {model.id} cannot be used: {model.error}",
            code="model_not_ready",
            param="model",
            hint="`reinforge models list` says how far it is."
            if adding
            else "Repair its files and add it again with `reinforge models add`.",
        )
    return model


async def page(session: AsyncSession, *, limit: int, after: str | None) -> tuple[list[BaseModel], bool]:
    return await repository.page(session, limit=limit, after=after)


async def add(
    database: Database, adder: Adder, sealer: Sealer, body: ModelCreate, who: Principal, *, wait: bool
) -> BaseModel:
    """Have a worker look at the source. With `wait` nothing is kept of a new model that it refuses.

    Raises StateConflict `model_exists`, `name_taken`; with `wait` `model_in_use`, InvalidInput (param `source` …),
    Unavailable and others.
    """
    async with database.transaction() as session:
        existing = await repository.find(session, body.id)
        await _check_id(session, body, existing)
        new = existing is None or existing.status != "ready"
        keep = not wait or (new and existing is not None)
        asked = _asked(body, existing, sealer, who, new=new, keep_refusal=keep)
        values: dict[str, Any] = {"progress": {"phase": "waiting"}, "touched_at": now()}
        if new:
            values |= {"source": asked.shown_source, "status": "adding", "error": None, "lora_targets": []}
            values |= {"has_chat_template": False, "created_by": who.name}
            values |= {
                "token_sealed": asked.token_sealed
            }  # for when it is tried again; nobody else's look uses it
            await repository.put(session, body.id, values, replace=True)
        else:
            await repository.change(session, body.id, values)
    await adder.add(asked, wait=wait)
    async with database.transaction() as session:
        return await session.get_one(BaseModel, body.id)


async def _check_id(session: AsyncSession, body: ModelCreate, existing: BaseModel | None) -> None:
    if existing is None and await repository.is_deployed(session, body.id):
        raise StateConflict(
            f"{body.id} is the name of a deployment.",
            code="name_taken",
            hint="Requests name models and deployments alike: give the model another id.",
            param="id",
        )
    if existing is not None and (body.id in BUILTIN or not same_source(existing.source, body.source)):
        raise StateConflict(
            f"The model {body.id!r} exists already, from {existing.source}.",
            code="model_exists",
            hint="Give the new one another id.",
            param="id",
        )


def _asked(
    body: ModelCreate,
    existing: BaseModel | None,
    sealer: Sealer,
    who: Principal,
    *,
    new: bool,
    keep_refusal: bool,
) -> Asked:
    """What a worker is to look at; sources are taken as they are shown, with the template chosen for them."""
    template = body.chat_template or chosen_template(body.source) or (None if new else _template(existing))
    token = None if existing is None else existing.token_sealed
    if body.token is not None:
        token = sealer.seal(f"hub:{body.id}", body.token.get_secret_value())
    return Asked(
        body.id,
        _source(body, existing),
        template,
        new=new,
        keep_refusal=keep_refusal,
        token_sealed=token,
        token_known=body.token is None and not new,
        # What is used already was looked at when it was added.
        any_folder=who.administrator or not new,
    )


def _source(body: ModelCreate, existing: BaseModel | None) -> str:
    """What is looked at: a model that is there is looked at in its pinned revision, unless another is named."""
    given = plain(body.source)
    pinned = existing is not None and existing.status == "ready" and "@" not in given
    return plain(existing.source) if pinned and existing is not None else given


def _template(existing: BaseModel | None) -> str | None:
    """What was chosen for a model that has no template of its own."""
    if existing is None:
        return None
    return chosen_template(existing.source) or (None if existing.has_chat_template else "bare")


async def remove(session: AsyncSession, id: str) -> None:
    """Forget a model; its files stay with the workers. Raises NotFound, StateConflict `model_in_use`."""
    model = await get(session, "", id)
    user = await repository.used_by(session, id)
    if id in BUILTIN or user is not None:
        what = f"{user} needs it" if user else "it comes with the worker"
        raise StateConflict(
            f"The model {id!r} cannot be removed: {what}.",
            code="model_in_use",
            hint="Results go on naming the model they were made with.",
        )
    await session.delete(model)


async def hub_token(session: AsyncSession, source: str, sealer: Sealer) -> str | None:
    """The token that opens a source of the hub; None where the model brings none. Raises Unavailable."""
    if not source.startswith("hub:"):
        return None
    found = await repository.token_of(session, source)
    return None if found is None else sealer.open(f"hub:{found[0]}", found[1])


def view(model: BaseModel) -> BaseModelInfo:
    """As the API shows it."""
    shown = BaseModelInfo.model_validate(model)
    progress = model.progress or {}
    failure = progress.get("error")
    if silent(model):
        failure = interrupted_failure()
        shown.status, shown.error = "failed", failure["message"]
    if failure is None and progress.get("phase"):
        shown.progress = ModelProgress.model_validate(progress)
    shown.failure = None if failure is None else JobError.model_validate(failure)
    shown.has_token = model.token_sealed is not None
    if model.parameters is not None and model.shape is not None:
        shape = ModelShape.model_validate(model.shape)
        shown.memory = estimate(model.parameters, shape, model.context_length)
    if (size := hidden_size(model)) is not None:
        shown.auto_learning_rate = learning_rate.explained(size)
    return shown


def hidden_size(model: BaseModel) -> int | None:
    """None where no worker has stored it, or the model's configuration does not say it."""
    return ModelShape.model_validate(model.shape or {}).hidden


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
        await repository.put(session, id, values_of(source, facts), replace=True)


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
