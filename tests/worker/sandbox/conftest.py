import os
from collections.abc import Iterator

import pytest

from worker.sandbox import SandboxClient

from .harness import JAILS, NORMAL_UID, RunningDaemon, running_daemon

CI_PAIRS = {("N", "the user of the tests"), ("L", "a normal user")}
"""Jails and users in which CI tries every attack; `make test-long` tries the other two pairs."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() != 0:
        return
    for item in items:
        params = getattr(item, "callspec", None) and item.callspec.params  # type: ignore[attr-defined]
        if (
            params
            and {"attacked", "user"} <= set(params)
            and (params["attacked"], params["user"]) not in CI_PAIRS
        ):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", params=JAILS)
def daemon(request: pytest.FixtureRequest) -> Iterator[RunningDaemon]:
    """One daemon with two jails for the tests that leave it as they found it."""
    with running_daemon(pool=2, jail=request.param) as running:
        assert running.announced == f"sandboxd: code rewards are on: jail {request.param} was proved to hold"
        yield running


@pytest.fixture
def client(daemon: RunningDaemon) -> Iterator[SandboxClient]:
    with daemon.client() as client:
        yield client


@pytest.fixture(scope="module", params=["the user of the tests", "a normal user"])
def user(request: pytest.FixtureRequest) -> int | None:
    other = request.param == "a normal user"
    if other and os.geteuid() != 0:
        pytest.skip("the tests run as a normal user already: covered by the other half")
    return NORMAL_UID if other else None
