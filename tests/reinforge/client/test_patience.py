"""Requests that a worker answers take as long as the server gives the worker, and are sent once."""

from collections.abc import Callable, Iterator

import pytest

from reinforge.client import Reinforge
from reinforge.errors import ReinforgeError
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("/rewards/test", lambda client: client.rewards.test([{"completion": "1"}], source="x")),
        ("/jobs", lambda client: client.jobs.create({})),
    ],
)
def test_what_a_worker_has_to_do_is_waited_for(
    stub: StubServer, path: str, call: Callable[[Reinforge], object]
) -> None:
    stub.on("POST", path, Answer(422, {"error": {"message": "done", "code": "answered"}}, delay=0.6))
    with (
        Reinforge(stub.url, "rf-test", timeout=0.2, retries=1) as client,
        pytest.raises(ReinforgeError) as caught,
    ):
        call(client)
    assert caught.value.code == "answered"
    assert len(stub.requests) == 1
