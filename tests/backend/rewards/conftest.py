"""A backend with a real calls worker in front of a real sandbox."""

import threading
from collections.abc import Iterator

import pytest

from reinforge.net.outbound import ALLOW_VARIABLE
from reinforge.schemas.rpc.base import CallKind
from tests.backend.server import WORKER_TOKEN, Backend
from tests.worker.sandbox.harness import running_daemon
from worker.backend_api.client import WorkerApi
from worker.models.sources import ModelStore
from worker.rpc.server import CallWorker

KINDS: list[CallKind] = ["validate", "score", "list_tools", "run_tools"]


@pytest.fixture(scope="module")
def live_backend(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """The backend with a calls worker that has a sandbox."""
    with running_daemon() as daemon, pytest.MonkeyPatch.context() as patch:
        patch.setenv(ALLOW_VARIABLE, "127.0.0.1")  # where the judges of tests are
        backend.register("wrk_real", "calls")
        models = ModelStore(tmp_path_factory.mktemp("models"))
        worker = CallWorker(WorkerApi(backend.url, WORKER_TOKEN), "wrk_real", models, daemon.socket)
        thread = threading.Thread(target=worker.loop, args=(KINDS, 0.3))
        thread.start()
        yield backend
        worker.stop.set()
        thread.join(10)
        backend.sql("DELETE FROM worker WHERE id = 'wrk_real'")
