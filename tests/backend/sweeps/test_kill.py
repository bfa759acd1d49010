"""Processes that advance sweeps are killed or work at once: no trial is lost, and none has two jobs."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from backend.data.database import Database
from backend.data.objects import Objects, configured_store
from backend.rpc.wake_ups import WakeUps
from backend.sweeps.controller import SweepController
from backend.sweeps.planner import TrialRecord, plan
from backend.sweeps.samplers import startup_settings
from backend.sweeps.settings import next_setting
from reinforge.sweeps import SweepSpec
from tests.backend.server import AGREEABLE, OWNER_KEY, Backend, wait_until
from tests.backend.sweeps.sweeping import advance, create, sweep, train

TRIALS = 8
MEASURED = 4
"""Trials with results before the first kill."""
KILLS = 2


def background(backend: Backend) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        "DATABASE_URL": backend.database_url,
        "REINFORGE_HOME": str(backend.home),
        "REINFORGE_BOOTSTRAP_API_KEY": OWNER_KEY,
    }
    return subprocess.Popen([sys.executable, "-m", "backend", "background"], env=environment)


def submitted(backend: Backend, id: str) -> list[str]:
    query = "SELECT id FROM job WHERE resolved_spec->'metadata'->>'sweep' = %s ORDER BY created_at"
    return [row[0] for row in backend.sql(query, id)]


def check_whole(backend: Backend, id: str) -> None:
    trials = sweep(backend, id)["trials"]
    assert [trial["number"] for trial in trials] == list(range(TRIALS))
    assert sorted(trial["job"] for trial in trials) == sorted(submitted(backend, id)), (
        "no job without its trial"
    )
    assert len(submitted(backend, id)) == TRIALS
    ranks = [backend.job(trial["job"])["resolved_spec"]["adapter"]["rank"] for trial in trials]
    assert ranks == list(range(1, TRIALS + 1))


def test_kill_9_of_the_background_process_loses_and_doubles_nothing(backend: Backend) -> None:
    slow = {kind: slowly(answer) for kind, answer in AGREEABLE.items()}
    with backend.rpc_worker(**slow):
        id = create(backend, parameters={"adapter.rank": list(range(1, TRIALS + 1))}, parallel=TRIALS)
        for kill in range(KILLS):
            process = background(backend)
            try:
                # In the middle of a submission: it takes several slow calls.
                wait_until(lambda: len(submitted(backend, id)) > kill, "another job", within=60)
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
        assert len(submitted(backend, id)) < TRIALS, "all were submitted before the last kill"
        process = background(backend)
        try:
            wait_until(lambda: len(submitted(backend, id)) >= TRIALS, "the other jobs", within=60)
            backend.api.post(f"/sweeps/{id}/cancel")
            wait_until(lambda: sweep(backend, id)["status"] == "cancelled", "the end of the sweep", within=60)
        finally:
            process.terminate()
            process.wait()
    check_whole(backend, id)


def slowly(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def slow(payload: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.1)
        return answer(payload)

    return slow


@pytest.mark.long
def test_kill_9_in_a_search_that_learns_gives_the_settings_that_it_would_have_had(backend: Backend) -> None:
    parameters = {"adapter.rank": {"min": 1, "max": 64, "integer": True, "log": True}}
    search: dict[str, Any] = {
        "method": "tpe",
        "parameters": parameters,
        "parallel": MEASURED,
        "trials": TRIALS,
    }
    slow = {kind: slowly(answer) for kind, answer in AGREEABLE.items()}
    with backend.rpc_worker(**slow):
        id = create(backend, **search)
        advance(backend)
        for job, reward in zip(submitted(backend, id), (0.1, 0.7, 0.3, 0.5), strict=True):
            train(backend, job, reward)
        expected = chosen(backend, id)
        process = background(backend)
        try:
            wait_until(lambda: len(submitted(backend, id)) > MEASURED, "another job", within=60)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        process = background(backend)
        try:
            wait_until(lambda: len(submitted(backend, id)) >= 2 * MEASURED, "the other jobs", within=60)
            backend.api.post(f"/sweeps/{id}/cancel")
            wait_until(lambda: sweep(backend, id)["status"] == "cancelled", "the end of the sweep", within=60)
        finally:
            process.terminate()
            process.wait()
    trials = sweep(backend, id)["trials"]
    assert [trial["number"] for trial in trials] == list(range(2 * MEASURED))
    assert [trial["parameters"] for trial in trials[MEASURED:]] == expected
    assert len({json.dumps(trial["parameters"]) for trial in trials}) == 2 * MEASURED
    assert sorted(trial["job"] for trial in trials) == sorted(submitted(backend, id))


def chosen(backend: Backend, id: str) -> list[dict[str, Any]]:
    """The next settings by the results so far."""
    view = sweep(backend, id)
    records = [
        TrialRecord(
            trial["number"], trial["setting"], trial["name"], trial["parameters"], trial["status"],
            rewards=[trial["objective"]], steps=[trial["objective_step"]],
        )
        for trial in view["trials"]
    ]  # fmt: skip
    spec = SweepSpec.model_validate(view["spec"])
    new = plan(spec, "running", records, next_setting(spec, records)).new
    assert len(new) == len(records) == MEASURED >= startup_settings(spec)
    return [variation.parameters for variation in new]


def test_two_controllers_at_once_submit_every_trial_once(backend: Backend) -> None:
    with backend.rpc_worker():
        id = create(backend, parameters={"adapter.rank": list(range(1, TRIALS + 1))}, parallel=TRIALS)
        asyncio.run(advance_together(backend, 3))
    check_whole(backend, id)


async def advance_together(backend: Backend, count: int) -> None:
    database = Database(backend.database_url, pool_size=5)
    wake_ups = WakeUps(backend.settings)
    objects = Objects(database, configured_store(backend.settings))
    controllers = [SweepController(database, objects, wake_ups, backend.settings) for _ in range(count)]
    try:
        await asyncio.gather(*(controller.tick() for controller in controllers))
        await controllers[0].tick()
    finally:
        for controller in controllers:
            await controller.close()
        wake_ups.close()
        await database.close()
