from collections.abc import Iterator

import pytest

from tests.worker.sandbox.harness import STRONGEST, RunningDaemon, running_daemon
from worker.sandbox import SandboxClient


@pytest.fixture(scope="session")
def tool_daemon() -> Iterator[RunningDaemon]:
    with running_daemon(pool=2, jail=STRONGEST) as daemon:
        yield daemon


@pytest.fixture
def sandbox(tool_daemon: RunningDaemon) -> Iterator[SandboxClient]:
    with tool_daemon.client() as client:
        yield client
