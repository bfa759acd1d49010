"""Requests that are refused before their body is read, and requests that arrive incompletely."""

import json
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from backend.access import body_limits
from backend.access.body_limits import BodyLimit
from tests.backend.server import OWNER_KEY, WORKER_TOKEN, Backend
from tests.backend.tenancy import operations

MIB = 1024**2


class Line:
    """One connection, on which a test writes what it likes."""

    def __init__(self, backend: Backend) -> None:
        host, port = backend.url.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=20)

    def head(
        self,
        method: str,
        path: str,
        *,
        length: int | None = None,
        token: str | None = None,
        content_type: str = "application/json",
    ) -> None:
        body = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
        lines = [f"{method} {path} HTTP/1.1", "host: x", f"content-type: {content_type}", body]
        lines += [f"authorization: Bearer {token}"] if token else []
        self.send("\r\n".join([*lines, "", ""]).encode())

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def answer(self) -> tuple[int, str]:
        """Status and code of the error. The body of a refusal comes in one piece with its length."""
        received = b""
        while b"\r\n\r\n" not in received:
            piece = self.socket.recv(65_536)
            assert piece, "the connection ended without an answer"
            received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.decode().lower().split("\r\n")
        [length] = [int(line.split(":")[1]) for line in lines if line.startswith("content-length:")]
        while len(body) < length:
            body += self.socket.recv(65_536)
        code = json.loads(body)["error"]["code"] if body else ""
        return int(lines[0].split()[1]), code

    def ended(self) -> bool:
        """Waits for the server to end the connection."""
        try:
            while self.socket.recv(65_536):
                pass
        except ConnectionResetError:
            pass
        return True


@pytest.fixture
def line(backend: Backend) -> Iterator[Line]:
    made = Line(backend)
    yield made
    made.socket.close()


def test_no_body_is_read_before_its_sender_is_authenticated(backend: Backend) -> None:
    """For every operation: a stranger who announces 100 MiB and sends nothing is answered at once."""
    checked = 0
    for operation in operations(backend):
        if operation.method == "get":
            continue
        path = operation.path.replace("{", "").replace("}", "")
        line = Line(backend)
        line.head(operation.method.upper(), path, length=100 * MIB)
        expected = (413, "body_too_large") if path in body_limits.OPEN else (401, "missing_api_key")
        assert line.answer() == expected, f"{operation.method} {path}"
        line.socket.close()
        checked += 1
    assert checked > 50


@pytest.mark.parametrize(
    ("path", "token", "refusal"),
    [
        ("/worker/v1/workers", None, (401, "invalid_worker_token")),
        ("/worker/v1/jobs/claim", "wrong", (401, "invalid_worker_token")),
        ("/worker/v1/jobs/ftjob-x/records", "wrong", (409, "lease_lost")),
        ("/worker/v1/calls/x/answer", "wrong", (401, "invalid_worker_token")),
        ("/v1/chat/completions", "rf-wrong", (401, "invalid_api_key")),
        ("/v1/files", "rf-wrong", (401, "invalid_api_key")),
        ("/api/v1/datasets", "rf-wrong", (401, "invalid_api_key")),
    ],
)
def test_nor_with_a_wrong_token(line: Line, path: str, token: str | None, refusal: tuple[int, str]) -> None:
    line.head("POST", path, token=token)
    assert line.answer() == refusal


def test_requests_on_one_connection_are_counted_apart(backend: Backend) -> None:
    source = "#" * 5_000_000
    for _ in range(2):
        assert backend.api.post("/rewards/check", json={"source": source}).status_code == 422


@pytest.mark.parametrize("path", ["/api/v1/sign-in", "/api/v1/invitations/look", "/nothing"])
def test_a_strangers_body_is_small(backend: Backend, path: str) -> None:
    body = json.dumps({"token": "x" * body_limits.STRANGERS_BYTES})
    response = backend.bare.post(path, content=body, headers={"content-type": "application/json"})
    assert response.status_code in (404, 413), response.text
    if response.status_code == 413:
        assert response.json()["error"]["code"] == "body_too_large"


@pytest.mark.parametrize(
    ("path", "limit"),
    [("/api/v1/keys", body_limits.JSON_BYTES), ("/api/v1/jobs", body_limits.JSON_BYTES_OF["jobs"])],
)
def test_every_route_has_a_size(backend: Backend, line: Line, path: str, limit: int) -> None:
    line.head("POST", path, length=limit + 1, token=OWNER_KEY)
    assert line.answer() == (413, "body_too_large")
    chunked = Line(backend)
    chunked.head("POST", path, token=OWNER_KEY)
    piece = b"x" * 65_000
    try:
        for _ in range(limit // len(piece) + 2):
            chunked.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    except (ConnectionResetError, BrokenPipeError):
        return  # answered and closed
    assert chunked.answer() == (413, "body_too_large")
    chunked.socket.close()


def test_a_large_body_of_an_authenticated_sender_is_read(backend: Backend) -> None:
    """Below the limit of its route it reaches the endpoint."""
    source = "#" * (body_limits.JSON_BYTES_OF["rewards"] - 1000)
    response = backend.api.post("/rewards/check", json={"source": source})
    assert (response.status_code, response.json()["error"]["param"]) == (422, "source")


def test_records_and_answers_of_a_worker_may_be_large(line: Line) -> None:
    line.head("POST", "/worker/v1/calls/x/answer", length=100 * MIB, token=WORKER_TOKEN)
    line.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):  # it waits for the body
        line.answer()


def test_a_body_that_stops_is_ended(backend: Backend, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = BodyLimit(1000, stall_seconds=0.3)
    monkeypatch.setattr("backend.access.admission.limit_of", lambda *_: quick)
    monkeypatch.setattr("backend.http.server.LINGER_SECONDS", 0.3)
    line.head("POST", "/api/v1/sign-in", length=500)
    line.send(b'{"token":')
    assert line.answer() == (408, "body_too_slow")
    assert line.ended()


def test_a_body_that_drips_is_ended(backend: Backend, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte in time, all of them too slow."""
    quick = BodyLimit(1000, stall_seconds=0.5, least_rate=100)
    monkeypatch.setattr("backend.access.admission.limit_of", lambda *_: quick)
    line.head("POST", "/api/v1/sign-in", length=500)
    line.socket.settimeout(0.1)
    for _ in range(200):
        line.send(b" ")
        try:
            assert line.answer() == (408, "body_too_slow")
            return
        except TimeoutError:
            continue
    pytest.fail("it went on")


def test_a_head_that_does_not_end_is_ended(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.http.server.HEAD_SECONDS", 0.3)
    for begun in (b"", b"\r\n\r\n", b"POST /api/v1/sign-in HTTP/1.1\r\nhost: x\r\n"):
        line = Line(backend)
        line.send(begun)
        assert line.ended()


def test_a_head_that_is_too_large_is_refused(line: Line) -> None:
    line.send(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: ")
    line.send(b"a" * 400_000)
    assert line.answer()[0] == 431


def test_the_framing_of_a_body_has_a_size(line: Line) -> None:
    """Trailers behind a chunked body are no content, and no way around its limit."""
    line.head("POST", "/api/v1/jobs", token=OWNER_KEY)
    line.send(b"2\r\n{}\r\n0\r\n")
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        for _ in range(100):
            line.send(b"x-trailer: " + b"a" * 65_000)
            time.sleep(0.001)


def test_what_is_left_of_a_refused_body_is_dropped_for_a_while_only(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.http.server.LINGER_SECONDS", 0.3)
    line.head("POST", "/api/v1/jobs", length=100 * MIB)
    line.send(b"x" * 100_000)
    assert line.answer() == (401, "missing_api_key")
    assert line.ended()


def test_connections_without_a_request_make_room(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of those that have sent nothing whole is closed, not the newest refused."""
    monkeypatch.setattr(backend.server_config, "most_connections", 20)
    idle = [Line(backend) for _ in range(40)]
    assert idle[0].ended()
    assert httpx.get(f"{backend.url}/healthz").status_code == 200
    for connection in idle:
        connection.socket.close()
