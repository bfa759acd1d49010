"""Loading of deployments, and updates of their states and usage."""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend import usage
from backend.data.database import Database
from backend.deployments import repository, service
from backend.models import BaseModel, Deployment
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedSampling
from backend.rpc.stream import open_stream
from reinforge.errors import ReinforgeError
from reinforge.schemas.deployments import State
from reinforge.schemas.rpc.sampling import SAMPLE, AdapterArchive
from reinforge.schemas.usage import UsageKind

log = logging.getLogger(__name__)

QUIET_SECONDS = 300.0
LOADING_AT_MOST = timedelta(seconds=2 * QUIET_SECONDS)
_OF_THE_HOST = {
    "adapter_damaged", "call_timeout", "gpu_unavailable", "invalid_adapter", "model_changed", "model_load_failed",
    "out_of_memory", "sampling_failed", "serving_lost", "worker_lost",
}  # fmt: skip
"""Codes of errors that come from the weights or their worker, not from a single request."""


@dataclass
class ServedRequest:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    error: ReinforgeError | None = None
    broken_off: bool = False
    is_new: bool = True
    """False for a later turn of a request that is already counted."""

    def used(self) -> dict[UsageKind, float]:
        return {
            "served_input_tokens": float(self.prompt_tokens),
            "served_output_tokens": float(self.completion_tokens),
            "device_seconds": self.seconds,
        }


async def note(session: AsyncSession, id: str, how: ServedRequest) -> None:
    await repository.count(
        session,
        id,
        requests=int(how.is_new),
        prompt_tokens=how.prompt_tokens,
        completion_tokens=how.completion_tokens,
        failed=how.error is not None,
    )
    if how.error is not None and how.error.code in _OF_THE_HOST:
        await repository.move(session, id, since=service.OPEN, to="failed", error=_reason(how.error))
    elif how.error is None and not how.broken_off:
        await repository.move(session, id, since=["loading", "failed"], to="ready")
    await service.settle(session, id)


async def sweep(session: AsyncSession) -> int:
    rows = await repository.left_behind(session, LOADING_AT_MOST)
    for row in rows:
        if row.state == "draining":
            await service.settle(session, row.id)
        else:
            error = {
                "code": "loading_interrupted",
                "message": "Loading the weights was interrupted.",
                "hint": "The next request loads them again.",
            }
            await repository.move(session, row.id, since=["loading"], to="failed", error=error)
    return len(rows)


class Loader:
    def __init__(self, database: Database, calls: Calls) -> None:
        self._database, self._calls = database, calls
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, row: Deployment) -> None:
        task = asyncio.create_task(self._load(row.project_id, row.id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _load(self, project_id: str, id: str) -> None:
        try:
            async with self._database.transaction() as session:
                row = await repository.find(session, project_id, id)
                if row is None or row.state != "loading":
                    return
                served = await service.serve(session, project_id, id)
                sha256 = row.sha256
            assert served is not None
            await self._run(project_id, served)
            error = None
        except ReinforgeError as failure:
            log.info("deployment %s could not be loaded: %s", id, failure.message)
            error = _reason(failure)
        except SQLAlchemyError as failure:
            log.warning("deployment %s: the database does not answer: %s", id, failure)
            return
        async with self._database.transaction() as session:
            row = await repository.find(session, project_id, id)
            if row is not None and row.sha256 == sha256:  # else it has been pointed elsewhere
                to: State = "ready" if error is None else "failed"
                await repository.move(session, id, since=["loading"], to=to, error=error)

    async def _run(self, project_id: str, served: service.Served) -> None:
        """Make the worker load the weights, by a sampling call without prompts."""
        request = QueuedSampling(**weights(served.model, served.adapter), prompts=[], max_tokens=1)
        calls = self._calls.of_project(project_id)
        stream = await open_stream(calls, SAMPLE, request, quiet_seconds=QUIET_SECONDS)
        try:
            async with aclosing(stream.events()) as events:
                async for _ in events:
                    pass
        finally:
            async with self._database.transaction() as session:
                await usage.add(session, project_id, ServedRequest(seconds=stream.seconds).used(), served.id)


def weights(model: BaseModel, adapter: AdapterArchive | None) -> dict[str, Any]:
    return {
        "model": model.id,
        "model_key": model.key,
        "model_source": model.source,
        "model_sha256": model.sha256,
        "adapter": adapter,
    }


def _reason(error: ReinforgeError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}
