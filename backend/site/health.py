"""Endpoints `GET /healthz` and `GET /readyz`."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from backend.data.database import Database
from backend.data.migrate import is_migrated
from backend.data.objects import Objects
from backend.models import Worker, now
from backend.rpc.broker import BrokerWatch
from backend.rpc.client import ONLINE_SECONDS, SLOW_SECONDS, stuck
from reinforge import __version__
from reinforge.errors import ReinforgeError
from reinforge.net.broker import BrokerState, wake_up_problem

log = logging.getLogger(__name__)
router = APIRouter()

_PROBE_SECONDS = 5.0
_NOT_READY: dict[int | str, dict[str, Any]] = {
    503: {"description": "Not ready; `parts` says why.", "model": dict[str, Any]}
}


@router.get("/healthz", tags=["health"], operation_id="getHealth")
async def healthz() -> dict[str, Any]:
    """Answers if the process is alive."""
    return {"status": "ok", "version": __version__}


async def _database(database: Database) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            if await is_migrated(database):
                return {"ready": True}
        return {
            "ready": False,
            "message": "The schema does not match this version: run `python -m backend migrate`.",
        }
    except (SQLAlchemyError, TimeoutError) as error:
        log.warning("readiness: the database does not answer: %s", error)
        return {"ready": False, "message": "The database does not answer."}


async def _storage(objects: Objects) -> dict[str, Any]:
    key = "probe/ready"

    def probe() -> None:
        objects.store.put(key, b"ready")
        objects.store.get(key)

    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            await anyio.to_thread.run_sync(probe, abandon_on_cancel=True)
    except (ReinforgeError, TimeoutError) as error:
        return {"ready": False, "message": str(error) or "The object store does not answer."}
    return {"ready": True}


async def _broker(watch: BrokerWatch) -> tuple[BrokerState, dict[str, Any]]:
    state = await watch.look()
    part: dict[str, Any] = {"ready": state.error is None, "kind": state.kind}
    return state, part if state.problem is None else {**part, "message": state.problem}


async def _workers(database: Database, broker: BrokerState) -> dict[str, dict[str, Any]]:
    """State of the workers. The backend is ready without them, too."""
    try:
        async with database.transaction() as session:
            recent = Worker.last_seen_at > now() - timedelta(seconds=ONLINE_SECONDS)
            online = (await session.scalars(select(Worker).where(recent))).all()
            late_calls = await stuck(session)
    except SQLAlchemyError:
        online, late_calls = [], 0
    jails = sorted({worker.jail for worker in online if worker.jail})
    kinds = [worker.kind for worker in online]
    late = sum(
        wake_up_problem(BrokerState.model_validate(worker.broker), broker) is not None
        for worker in online
        if worker.broker
    )
    training: dict[str, Any] = {"ready": "trainer" in kinds, "online": kinds.count("trainer")}
    if late:
        training["without_wake_ups"] = late
        training["message"] = (
            f"Wake-ups do not reach {late} of {training['online']} workers: jobs may start some seconds "
            "later there. GET /api/v1/workers says why."
        )
    return {
        "worker": training,
        "calls": _calls(kinds.count("calls"), late_calls),
        "sandbox": {"ready": bool(jails), "jails": jails},
    }


def _calls(online: int, late: int) -> dict[str, Any]:
    part: dict[str, Any] = {"ready": online > 0 and not late, "online": online}
    if online and late:
        part["message"] = (
            f"{late} calls have waited for more than {SLOW_SECONDS:g} s: the workers do not answer, or all their "
            "threads are busy. The log of `python -m worker calls` says what they do."
        )
    return part


@router.get("/readyz", responses=_NOT_READY, tags=["health"], operation_id="getReadiness")
async def readyz(request: Request, response: Response) -> dict[str, Any]:
    """Readiness: the database is migrated, the object store is writable, the broker responds."""
    state = request.app.state
    database, storage, (broker_state, broker) = await asyncio.gather(
        _database(state.database), _storage(state.objects), _broker(state.broker)
    )
    workers = await _workers(state.database, broker_state) if database["ready"] else {}
    ready = database["ready"] and storage["ready"] and broker["ready"]
    response.status_code = 200 if ready else 503
    return {"ready": ready, "parts": {"database": database, "storage": storage, "broker": broker, **workers}}
