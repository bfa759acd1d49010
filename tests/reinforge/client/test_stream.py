"""A job's live events through a server that is started again behind a proxy."""

import asyncio
from collections.abc import Iterator

import pytest

from reinforge.client import AsyncReinforge, Reinforge
from reinforge.errors import NotAllowed, Unavailable
from tests.reinforge.cli.test_commands import JOB, event, events, page
from tests.support.stub_server import Answer, StubServer

SSE = {"content-type": "text/event-stream"}
AT_ONCE = {"retry-after": "0"}


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    server.on("GET", "/jobs/ftjob-1", Answer(200, JOB | {"status": "running"}))
    server.on("GET", "/jobs/ftjob-1/events", page())
    yield server
    server.close()


def restarted(stub: StubServer) -> None:
    """One event, then a proxy without a server for a moment, then the rest."""
    first = Answer(200, events([event(1, "log")]), SSE)
    away = [Answer(status, b"<html>", AT_ONCE) for status in (502, 503, 504)]
    last = Answer(200, events([event(2, "status", status="succeeded")]), SSE)
    stub.on("GET", "/jobs/ftjob-1/stream", first, *away, last)
    running, ended = (Answer(200, JOB | {"status": each}) for each in ("running", "succeeded"))
    stub.on("GET", "/jobs/ftjob-1", *[running] * 4, ended)


def test_a_proxy_without_a_server_is_asked_again(stub: StubServer) -> None:
    restarted(stub)
    with Reinforge(stub.url, "k", retries=3) as client:
        assert [each.seq for each in client.jobs.stream("ftjob-1")] == [1, 2]
    asked = [each.headers["last-event-id"] for each in stub.seen if each.path.endswith("/stream")]
    assert asked == ["ftjob-1:0", *["ftjob-1:1"] * 4]


def test_it_is_the_same_for_asyncio(stub: StubServer) -> None:
    restarted(stub)

    async def found() -> list[int]:
        async with AsyncReinforge(stub.url, "k", retries=3) as client:
            return [each.seq async for each in client.jobs.stream("ftjob-1")]

    assert asyncio.run(found()) == [1, 2]


@pytest.mark.parametrize(
    ("status", "kind", "tries"), [(503, Unavailable, 3), (403, NotAllowed, 1)], ids=["away", "refused"]
)
def test_patience_ends_with_what_the_server_said(
    stub: StubServer, status: int, kind: type[Exception], tries: int
) -> None:
    body = {"error": {"message": "not now", "code": "not_now"}}
    stub.on("GET", "/jobs/ftjob-1/stream", Answer(status, body, AT_ONCE))
    with Reinforge(stub.url, "k", retries=2) as client, pytest.raises(kind, match="not now"):
        list(client.jobs.stream("ftjob-1"))
    assert len([each for each in stub.seen if each.path.endswith("/stream")]) == tries
