from collections.abc import Iterator

import pytest

from worker.sandbox import SandboxClient

from .harness import RunningDaemon, running_daemon


@pytest.fixture(scope="session")
def daemon() -> Iterator[RunningDaemon]:
    """One daemon with two jails for the tests that leave it as they found it."""
    with running_daemon(pool=2) as running:
        assert running.announced == "sandboxd: jail L proved"
        yield running


@pytest.fixture
def client(daemon: RunningDaemon) -> Iterator[SandboxClient]:
    with daemon.client() as client:
        yield client
