"""A hub over HTTP, and a real calls worker that downloads from it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backend.server import WORKER_TOKEN, Backend
from tests.support.hub_stub import HubStub
from worker.backend_api.client import WorkerApi
from worker.isolated.process import Apart
from worker.models.sources import ModelStore
from worker.rpc import inspect_model, server
from worker.rpc.server import CallWorker


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubStub]:
    stub = HubStub()
    monkeypatch.setenv("HF_ENDPOINT", stub.url)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield stub
    stub.close()


@pytest.fixture(scope="session")
def warm_children() -> Iterator[Apart]:
    """Isolated children for all tests: starting one costs seconds of CPU."""
    apart = Apart()
    yield apart
    apart.close()


@pytest.fixture
def live_backend(
    backend: Backend, warm_children: Apart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    """A real calls worker with a folder of its own, which reports progress more often."""
    monkeypatch.setattr(inspect_model, "REPORT_SECONDS", 0.1)
    monkeypatch.setattr(server, "Apart", lambda: warm_children)
    backend.register("wrk_real", "calls")
    worker = CallWorker(
        WorkerApi(backend.url, WORKER_TOKEN), "wrk_real", ModelStore(tmp_path / "models"), None
    )
    thread = threading.Thread(target=worker.loop, args=(["inspect_model"], 0.2))
    thread.start()
    yield backend
    worker.stop.set()
    thread.join(10)
    backend.sql("DELETE FROM worker WHERE id = 'wrk_real'")
