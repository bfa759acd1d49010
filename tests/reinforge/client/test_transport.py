"""Retries, errors and idempotency of the SDK, against a real HTTP server."""

from collections.abc import Iterator

import httpx
import pytest

from reinforge.client.protocol import ServerUnreachable, retry_wait
from reinforge.client.sync import transport
from reinforge.client.sync.transport import Transport
from reinforge.errors import InvalidInput, NotAuthenticated, StateConflict, Unavailable
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


@pytest.fixture
def client(stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Transport]:
    monkeypatch.setattr(transport.time, "sleep", lambda seconds: None)
    one = Transport(stub.url, "rf-test", retries=2)
    yield one
    one.close()


def error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


def test_a_failed_request_is_sent_again_with_the_same_idempotency_key(
    stub: StubServer, client: Transport
) -> None:
    stub.on("POST", "/jobs", Answer(503, error("busy")), Answer(drop=True), Answer(201, {"id": "ftjob-1"}))
    assert client.post("/jobs", {"a": 1}) == {"id": "ftjob-1"}
    keys = [request.headers["idempotency-key"] for request in stub.requests]
    assert len(keys) == 3 and len(set(keys)) == 1
    assert [request.json for request in stub.requests] == [{"a": 1}] * 3


def test_two_posts_have_two_idempotency_keys(stub: StubServer, client: Transport) -> None:
    stub.on("POST", "/jobs", Answer(201, {}))
    client.post("/jobs", {})
    client.post("/jobs", {})
    assert len({request.headers["idempotency-key"] for request in stub.requests}) == 2


def test_a_conflict_marked_final_is_not_retried(stub: StubServer, client: Transport) -> None:
    body = error("It is over.", code="invalid_transition", hint="Start anew.")
    stub.on("POST", "/jobs/x/cancel", Answer(409, body, {"x-should-retry": "false"}))
    with pytest.raises(StateConflict) as caught:
        client.post("/jobs/x/cancel")
    assert (caught.value.code, caught.value.hint, len(stub.requests)) == (
        "invalid_transition",
        "Start anew.",
        1,
    )


def test_bad_input_keeps_its_place_and_is_not_retried(stub: StubServer, client: Transport) -> None:
    stub.on(
        "POST",
        "/jobs",
        Answer(422, error("G is 1.", code="invalid_spec", param="rollout", errors=[{"line": 3}])),
    )
    with pytest.raises(InvalidInput) as caught:
        client.post("/jobs", {})
    assert caught.value.param == "rollout"
    assert caught.value.errors == [{"line": 3}]
    assert len(stub.requests) == 1


def test_retries_end(stub: StubServer, client: Transport) -> None:
    stub.on("GET", "/jobs", Answer(503, error("still busy", code="no_worker")))
    with pytest.raises(Unavailable) as caught:
        client.get("/jobs")
    assert caught.value.code == "no_worker"
    assert len(stub.requests) == 3


def test_an_answer_that_is_not_ours_is_still_an_error(stub: StubServer, client: Transport) -> None:
    stub.on("GET", "/jobs", Answer(401, b"<html>proxy says no</html>"))
    with pytest.raises(NotAuthenticated) as caught:
        client.get("/jobs")
    assert "401" in caught.value.message


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport.time, "sleep", lambda seconds: None)
    client = Transport("http://127.0.0.1:1", None, retries=1)
    with pytest.raises(ServerUnreachable) as caught:
        client.get("/me")
    assert caught.value.hint and "reinforge up" in caught.value.hint
    client.close()


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (200, {}, None),
        (404, {}, None),
        (409, {"x-should-retry": "false"}, None),
        (400, {"x-should-retry": "true", "retry-after": "0"}, 0.0),
        (429, {"retry-after": "7"}, 7.0),
        (429, {"retry-after": "3600"}, None),
        (503, {"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0.0),
    ],
)
def test_how_long_to_wait(status: int, headers: dict[str, str], expected: float | None) -> None:
    assert retry_wait(0, httpx.Response(status, headers=headers)) == expected


def test_backoff_grows_and_stays_bounded() -> None:
    waits = [retry_wait(attempt, httpx.Response(503)) or 0 for attempt in range(8)]
    for attempt, wait in enumerate(waits):
        top = min(8.0, 0.5 * 2**attempt)
        assert 0.75 * top <= wait <= top
