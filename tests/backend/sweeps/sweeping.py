"""Sweeps of a test backend, and the controller that advances them."""

import asyncio
from typing import Any

import httpx

from backend.data.database import Database
from backend.data.objects import Objects, configured_store
from backend.rpc.wake_ups import WakeUps
from backend.sweeps.controller import SweepController
from tests.backend.server import Backend


def body(backend: Backend, job: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    base = {"name": "ranks", "job": backend.spec(**(job or {})), "parameters": {"adapter.rank": [2, 4]}}
    return base | fields


def create(backend: Backend, job: dict[str, Any] | None = None, **fields: Any) -> str:
    response = backend.api.post("/sweeps", json=body(backend, job, **fields))
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def sweep(backend: Backend, id: str) -> dict[str, Any]:
    response: httpx.Response = backend.api.get(f"/sweeps/{id}")
    assert response.status_code == 200, response.text
    view: dict[str, Any] = response.json()
    return view


def jobs(backend: Backend, id: str) -> list[str]:
    return [trial["job"] for trial in sweep(backend, id)["trials"]]


def advance(backend: Backend, times: int = 1) -> None:
    """What the background process does about sweeps."""

    async def run() -> None:
        database = Database(backend.database_url, pool_size=2)
        wake_ups = WakeUps(backend.settings)
        objects = Objects(database, configured_store(backend.settings))
        controller = SweepController(database, objects, wake_ups, backend.settings)
        try:
            for _ in range(times):
                await controller.tick()
        finally:
            await controller.close()
            wake_ups.close()
            await database.close()

    asyncio.run(run())


def train(backend: Backend, job: str, *rewards: float | None, end: str | None = "succeeded") -> Any:
    """Report evaluations after steps 1, 2, …; `end`: the outcome, None to continue."""
    trainer = backend.claim(job)
    trainer.start(steps=len(rewards) or 1)
    trainer.evaluate(0, 0.0)
    for step, reward in enumerate(rewards, 1):
        trainer.step(step)
        trainer.evaluate(step, reward)
    if end is not None:
        trainer.checkpoint(max(len(rewards), 1), final=True)
        trainer.end(end)
    return trainer
