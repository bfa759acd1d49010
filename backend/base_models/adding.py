"""Adding a base model: a worker downloads and inspects it in the background; the row holds the progress."""

import asyncio
import logging
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from backend.base_models import repository
from backend.base_models.sources import with_template
from backend.data.database import Database
from backend.models import BaseModel, now
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedInspection
from backend.rpc.stream import open_stream
from reinforge.errors import InvalidInput, NotFound, ReinforgeError, StateConflict, Unavailable
from reinforge.schemas.rpc.events import ProgressEvent
from reinforge.schemas.rpc.models import INSPECT_MODEL, ModelFacts

log = logging.getLogger(__name__)

QUIET_SECONDS = 120.0
SILENT = timedelta(seconds=150)
_TEMPLATE_OFFER = (
    'Send chat_template "plain" for a template that writes roles as words, or "bare" to pass only the '
    "messages' texts, or put a chat_template.jinja into the model's folder."
)


@dataclass(frozen=True, slots=True)
class Inspection:
    """`template` names the chat template for a model without its own."""

    key: str
    id: str
    source: str
    template: str | None
    new: bool
    project_id: str
    keep_refusal: bool
    token_sealed: str | None = None
    checked_before: bool = False
    any_folder: bool = False

    @property
    def source_with_template(self) -> str:
        return with_template(self.source, self.template)


class Adder:
    def __init__(self, database: Database, calls: Calls) -> None:
        self._database, self._calls = database, calls
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def add(self, inspection: Inspection, *, wait: bool) -> None:
        task = self._tasks.get(inspection.key)
        if task is None:
            task = asyncio.create_task(self._add(inspection))
            self._tasks[inspection.key] = task
            task.add_done_callback(lambda finished: self._forget(inspection, finished))
        if wait:
            await asyncio.shield(task)  # the client may disconnect; the download continues

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, inspection: Inspection, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(inspection.key, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("the model %s was not added: %s", inspection.id, error)

    async def _add(self, inspection: Inspection) -> None:
        source = inspection.source_with_template
        try:
            facts = await self._inspect(inspection, source)
            if not facts.has_chat_template and inspection.template is None:
                raise InvalidInput(
                    "The model has no chat template.",
                    code="no_chat_template",
                    hint=_TEMPLATE_OFFER,
                    param="chat_template",
                )
            await self._store(inspection, values_of(source, facts))
        except ReinforgeError as error:
            await self._refuse(inspection, error)
            raise
        except asyncio.CancelledError:
            with suppress(SQLAlchemyError):
                await self._refuse(inspection, _interrupted())
            raise

    async def _store(self, inspection: Inspection, values: dict[str, Any]) -> None:
        if inspection.new or inspection.token_sealed is not None:
            values |= {"token_sealed": inspection.token_sealed}
        async with self._database.transaction() as session:
            # The lock blocks new references to the model, so that none is missed.
            row = await session.get(BaseModel, inspection.key, with_for_update=True)
            if row is None:
                raise removed(inspection)
            changed = row.status == "ready" and row.sha256 != values["sha256"]
            if changed and await repository.users(session, inspection.key):
                raise _in_use(inspection)
            await repository.change(session, inspection.key, values)

    async def _inspect(self, inspection: Inspection, source: str) -> ModelFacts:
        request = QueuedInspection(
            source=source, any_folder=inspection.any_folder, added=inspection.checked_before
        )
        if inspection.token_sealed is not None:
            request.token_of, request.token_sealed = inspection.key, inspection.token_sealed
        calls = self._calls.of_project(inspection.project_id)
        stream = await open_stream(calls, INSPECT_MODEL, request, quiet_seconds=QUIET_SECONDS)
        async with aclosing(stream.events()) as events:
            async for event in events:
                if isinstance(event, ProgressEvent):
                    progress = event.model_dump(include={"phase", "done", "total"})
                    async with self._database.transaction() as session:
                        await repository.note(session, inspection.key, progress)
        if stream.result is None:
            raise Unavailable(
                "The worker stopped before it had inspected the model.", code="worker_lost", hint="Try again."
            )
        return stream.result

    async def _refuse(self, inspection: Inspection, error: ReinforgeError) -> None:
        inner = error.envelope()["error"]
        failure = {key: inner[key] for key in ("code", "message", "hint")}
        async with self._database.transaction() as session:
            row = await session.get(BaseModel, inspection.key, with_for_update=True)
            if row is None:
                return
            if inspection.new and not inspection.keep_refusal:
                await session.delete(row)
                return
            row.progress, row.touched_at = {"error": failure}, now()
            if inspection.new:
                row.status, row.error = "failed", error.message


def values_of(source: str, facts: ModelFacts) -> dict[str, Any]:
    return {
        "status": "ready",
        "error": None,
        "progress": None,
        "touched_at": now(),
        **facts.model_dump(),
        "source": facts.source or source,
    }


def silent(row: BaseModel) -> bool:
    return row.status == "adding" and (row.touched_at is None or row.touched_at < now() - SILENT)


def is_inspected(row: BaseModel) -> bool:
    under_way = bool((row.progress or {}).get("phase"))
    return under_way and row.touched_at is not None and row.touched_at > now() - SILENT


def _in_use(inspection: Inspection) -> StateConflict:
    """Error for changed files of a model in use. Does not name where, as that may be another project."""
    return StateConflict(
        f"The files of {inspection.id} have changed, but jobs, adapters or deployments need the old ones.",
        code="model_in_use",
        hint="Add the changed files under another id. This model stays as it was.",
        param="id",
    )


def removed(inspection: Inspection) -> NotFound:
    return NotFound(
        f"The model {inspection.id} was removed while a worker was inspecting it.",
        code="model_not_found",
        hint="Add it again: files that were already downloaded are still there.",
    )


def _interrupted() -> Unavailable:
    return Unavailable(
        "The server was stopped while it was adding the model.",
        code="interrupted",
        hint="Add the model again: its download continues where it stopped.",
    )


def interrupted_failure() -> dict[str, Any]:
    inner = _interrupted().envelope()["error"]
    return {key: inner[key] for key in ("code", "message", "hint")}
