"""A job's live events through a server that is started again behind a proxy."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from reinforge.client import AsyncReinforge, Reinforge, protocol
from reinforge.client.protocol import ServerUnreachable
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
    running, ended = (Answer(200, JOB | {"status": status}) for status in ("running", "succeeded"))
    stub.on("GET", "/jobs/ftjob-1", *[running] * 4, ended)


def test_a_request_to_a_proxy_without_a_server_is_retried(stub: StubServer) -> None:
    restarted(stub)
    with Reinforge(stub.url, "k", retries=3) as client:
        assert [event.seq for event in client.jobs.stream("ftjob-1")] == [1, 2]
    event_ids = [
        request.headers["last-event-id"] for request in stub.requests if request.path.endswith("/stream")
    ]
    assert event_ids == ["ftjob-1:0", *["ftjob-1:1"] * 4]


def test_it_is_the_same_for_asyncio(stub: StubServer) -> None:
    restarted(stub)

    async def sequences() -> list[int]:
        async with AsyncReinforge(stub.url, "k", retries=3) as client:
            return [event.seq async for event in client.jobs.stream("ftjob-1")]

    assert asyncio.run(sequences()) == [1, 2]


@pytest.mark.parametrize(
    ("status", "kind", "tries"), [(503, Unavailable, 3), (403, NotAllowed, 1)], ids=["away", "refused"]
)
def test_retries_end_with_the_servers_last_error(
    stub: StubServer, status: int, kind: type[Exception], tries: int
) -> None:
    body = {"error": {"message": "not now", "code": "not_now"}}
    stub.on("GET", "/jobs/ftjob-1/stream", Answer(status, body, AT_ONCE))
    with Reinforge(stub.url, "k", retries=2) as client, pytest.raises(kind, match="not now"):
        list(client.jobs.stream("ftjob-1"))
    assert len([request for request in stub.requests if request.path.endswith("/stream")]) == tries


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Pauses of an outage are short."""
    monkeypatch.setattr(protocol, "OUTAGE_POLL_SECONDS", 0.01)
    caplog.set_level(logging.WARNING, "reinforge.client")


def away(stub: StubServer, requests: int, path: str = "/jobs/ftjob-1") -> None:
    """The job runs, then the server does not answer so many requests, then the job has succeeded."""
    running, ended = (Answer(200, JOB | {"status": status}) for status in ("running", "succeeded"))
    stub.on("GET", path, running, *[Answer(drop=True)] * requests, ended)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "reinforge.client"]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "asyncio"])
def test_wait_survives_a_server_that_is_away_and_says_so_once(
    stub: StubServer, fast: None, caplog: pytest.LogCaptureFixture, asynchronous: bool
) -> None:
    away(stub, 20)

    async def status() -> str:
        async with AsyncReinforge(stub.url, "k", retries=0) as client:
            return (await client.jobs.wait("ftjob-1", poll=0)).status

    if asynchronous:
        assert asyncio.run(status()) == "succeeded"
    else:
        with Reinforge(stub.url, "k", retries=0) as client:
            assert client.jobs.wait("ftjob-1", poll=0).status == "succeeded"
    [message] = warnings(caplog)
    assert message.startswith(f"No answer from {stub.url}")
    assert message.endswith("Trying again for up to 10 minutes.")


def test_a_stream_survives_a_server_that_is_away(
    stub: StubServer, fast: None, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection breaks before the first event; the next ones are refused."""
    stub.on(
        "GET", "/jobs/ftjob-1/stream",
        Answer(200, b": open\n\n", SSE), Answer(200, events([event(1, "status", status="succeeded")]), SSE),
    )  # fmt: skip
    stub.on("GET", "/jobs/ftjob-1", *[Answer(drop=True)] * 20, Answer(200, JOB | {"status": "running"}))
    with Reinforge(stub.url, "k", retries=0) as client:
        received = client.jobs.stream("ftjob-1")
        assert next(received).seq == 1
    assert len(warnings(caplog)) == 1


def test_an_outage_ends_with_the_error_or_the_time_out(
    stub: StubServer, fast: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Reinforge(stub.url, "k", retries=0) as client:
        away(stub, 10_000)
        with pytest.raises(TimeoutError):
            client.jobs.wait("ftjob-1", poll=0, timeout=0.2)
        monkeypatch.setattr(protocol, "OUTAGE_SECONDS", 0.05)
        away(stub, 10_000)
        with pytest.raises(ServerUnreachable):
            client.jobs.wait("ftjob-1", poll=0)
    with Reinforge("http://127.0.0.1:9", "k", retries=0) as client, pytest.raises(ServerUnreachable):
        client.jobs.wait("ftjob-1")  # it has never answered: the address may be wrong


def test_a_server_that_cannot_be_reached_is_a_short_traceback_with_the_remedy() -> None:
    program = "from reinforge.client import Reinforge; Reinforge('http://127.0.0.1:9', 'k', retries=0).me()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    assert len(lines) < 20, done.stderr
    assert "No answer from http://127.0.0.1:9" in lines[-2]
    assert lines[-1].startswith("Hint: Check that the server runs")
