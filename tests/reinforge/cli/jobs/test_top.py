"""`reinforge top` against a backend with a worker, a running and a queued job."""

import io
import json
import time

import pytest
from rich.console import Console

from reinforge.cli.admin import top
from reinforge.client import Reinforge
from tests.backend.server import OWNER_KEY, Backend
from tests.support.command_line import Cli


def test_workers_running_jobs_and_the_queue(backend: Backend, run: Cli) -> None:
    empty = run("top", "--once")
    assert "No job is running." in empty.out and "No job is queued." in empty.out

    backend.register(waits_for="all GPUs are taken")
    running, queued = backend.create_job(name="first"), backend.create_job(name="[b]second")
    trainer = backend.claim(running)
    trainer.start()
    trainer.step(1, **{"throughput/tokens_per_second": 1200.0, "memory/peak": 1.5})
    trainer.step(2, **{"throughput/tokens_per_second": 1500.0, "memory/peak": 2.5})
    trainer.send({"kind": "phase", "phase": "scoring", "step": 3, "done": 1, "total": 4})

    document = json.loads(run("top", "--json").out)
    [job] = document["running"]
    assert (job["id"], job["step"], job["steps"], job["phase"]) == (running, 2, 3, "scoring")
    assert (job["reward"], job["tokens_per_second"], job["peak_memory_gib"]) == (0.2, 1500.0, 2.5)
    assert job["worker"] == "wrk_test"
    [waiting] = document["queued"]
    assert (waiting["id"], waiting["position"], waiting["reason"]) == (queued, 1, "workers_busy")
    workers = {worker["kind"]: worker for worker in document["workers"]}
    assert workers["trainer"]["job"] == running
    assert workers["calls"]["busy"] is False

    text = run("top").out  # not a terminal: once
    assert "2/3" in text and "1,500" in text and "2.5 GiB" in text and "0.200" in text
    assert "[b]second" in text and "workers busy" in text
    assert "! The worker does not take jobs: all GPUs are taken." in text


def test_it_goes_on_while_the_server_is_away(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    states = [{"server": "x", "workers": [], "running": [], "queued": []}, None, KeyboardInterrupt()]

    def snapshot(_: Reinforge) -> top.Snapshot:
        state = states.pop(0)
        if state is None:
            raise top.ServerUnreachable("nobody answers")
        if isinstance(state, BaseException):
            raise state
        return state

    monkeypatch.setattr(top, "snapshot", snapshot)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, height=30)
    with Reinforge(backend.url, OWNER_KEY) as client, pytest.raises(KeyboardInterrupt):
        top._live(client, 1.0, console)
    assert "No worker is online." in stream.getvalue() and "! nobody answers" in stream.getvalue()
