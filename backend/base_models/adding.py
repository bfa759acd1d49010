"""Adding a base model: a worker downloads and looks while this process listens; the row says how far it is.

A new model is `adding` until it is `ready` or `failed`. One that is there already stays as it is until the worker has
looked again. Whoever waits gets the refusal as an error, and nothing is kept of a new model that was refused.
"""

import asyncio
import logging
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from backend.base_models import repository
from backend.call_stream import open_stream
from backend.calls import Calls
from backend.database import Database
from backend.models import BaseModel, now
from reinforge.errors import InvalidInput, ReinforgeError, Unavailable
from reinforge.schemas.resources import ModelCreate

log = logging.getLogger(__name__)

QUIET_SECONDS = 120.0
"""A worker that says nothing for so long is not there; it tells every second how far it is."""
SILENT = timedelta(seconds=150)
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
    "revision",
    "shape",
)
_TEMPLATE_OFFER = (
    'Send chat_template "plain" to use one that writes roles as words, "bare" to give the model the bare texts of '
    "messages, or put a chat_template.jinja into the folder."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a worker is to look at. template: what to do without one of the model's own."""

    id: str
    source: str
    template: str | None
    new: bool
    keep_refusal: bool
    """A new one that is refused stays in the list, with the reason."""


class Adder:
    """The additions of one process."""

    def __init__(self, database: Database, calls: Calls) -> None:
        self._database, self._calls = database, calls
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def add(self, asked: Asked, *, wait: bool) -> None:
        """Start it, or wait for it. Raises what the worker refuses, when it is waited for."""
        task = self._tasks.get(asked.id)
        if task is None:
            task = asyncio.create_task(self._add(asked))
            self._tasks[asked.id] = task
            task.add_done_callback(lambda done: self._forget(asked.id, done))
        if wait:
            await asyncio.shield(task)  # who asks may hang up; the download goes on

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, id: str, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("%s was not added: %s", id, error)

    async def _add(self, asked: Asked) -> None:
        source = asked.source
        if asked.template not in (None, "bare"):
            source += f"#template={asked.template}"
        try:
            facts = await self._look(asked.id, source)
            if not facts.get("has_chat_template") and asked.template is None:
                raise InvalidInput(
                    "The model has no chat template.",
                    code="no_chat_template",
                    hint=_TEMPLATE_OFFER,
                    param="chat_template",
                )
        except ReinforgeError as error:
            await self._refuse(asked, error)
            raise
        except asyncio.CancelledError:
            with suppress(SQLAlchemyError):
                await self._refuse(asked, _interrupted())
            raise
        values = values_of(source, facts)
        async with self._database.transaction() as session:
            await repository.put(session, asked.id, values, replace=True)

    async def _look(self, id: str, source: str) -> dict[str, Any]:
        stream = await open_stream(
            self._calls, "inspect_model", {"source": source}, quiet_seconds=QUIET_SECONDS
        )
        async with aclosing(stream.events()) as events:
            async for event in events:
                if event is not None and event.get("type") == "progress":
                    progress = {key: event.get(key) for key in ("phase", "done", "total")}
                    async with self._database.transaction() as session:
                        await repository.note(session, id, progress)
        if stream.result is None:
            raise Unavailable("The worker gave no answer.", code="worker_lost", hint="Try again.")
        return stream.result

    async def _refuse(self, asked: Asked, error: ReinforgeError) -> None:
        inner = error.envelope()["error"]
        failure = {key: inner[key] for key in ("code", "message", "hint")}
        async with self._database.transaction() as session:
            row = await session.get(BaseModel, asked.id, with_for_update=True)
            if row is None:
                return
            if asked.new and not asked.keep_refusal:
                await session.delete(row)
                return
            row.progress, row.touched_at = {"error": failure}, now()
            if asked.new:
                row.status, row.error = "failed", error.message


def values_of(source: str, facts: dict[str, Any]) -> dict[str, Any]:
    """A row's values from what a worker found."""
    known = {key: facts.get(key) for key in _FACTS}
    known["has_chat_template"] = bool(facts.get("has_chat_template"))
    known["lora_targets"] = list(facts.get("lora_targets") or [])
    pinned = facts.get("source") or source
    return {
        "source": pinned,
        "status": "ready",
        "error": None,
        "progress": None,
        "touched_at": now(),
        **known,
    }


def silent(row: BaseModel) -> bool:
    """Whether the process that adds it is gone."""
    return row.status == "adding" and (row.touched_at is None or row.touched_at < now() - SILENT)


def _interrupted() -> Unavailable:
    return Unavailable(
        "The server that added it was stopped.",
        code="interrupted",
        hint="Add it again: a download goes on where it stopped.",
    )


def interrupted_failure() -> dict[str, Any]:
    inner = _interrupted().envelope()["error"]
    return {key: inner[key] for key in ("code", "message", "hint")}


def same_source(known: str, given: ModelCreate) -> bool:
    """Whether a source names the same model: a revision of the hub that is not given, or was pinned, does not count."""
    plain = known.partition("#")[0]
    if not given.source.startswith("hub:"):
        return plain == given.source
    return plain.partition("@")[0] == given.source.partition("@")[0]
