"""A small worker API over HTTP for the tests of the worker, with switches for failures."""

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "worker-secret"


@dataclass
class WorkerApiState:
    """State and switches of a `StubWorkerApi`. Tests read and set single fields without a lock."""

    queued: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Job id → the `Claimed` body that its claim answers with."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    workers: list[dict[str, Any]] = field(default_factory=list)
    heartbeats: list[dict[str, Any]] = field(default_factory=list)
    commands: list[dict[str, str]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    chunks: dict[str, dict[int, list[dict[str, Any]]]] = field(default_factory=dict)
    """Call id → sequence → events."""
    posts: list[tuple[str, int, float]] = field(default_factory=list)
    """Call, number of events and time of every post of a chunk."""
    hung_up: set[str] = field(default_factory=set)
    """Calls whose clients have left."""
    forget_chunks: int = 0
    """Number of next chunks that are stored but answered with 503."""
    lease_seconds: float = 30.0
    away: bool = False
    """Answer everything with 503."""
    lease_taken: bool = False
    refuse_heartbeats: bool = False
    refuse_records: bool = False
    refuse_blobs: str | None = None
    """Answer uploads with 503 and this code."""
    redirect_blobs_to: str | None = None
    unused: set[str] = field(default_factory=set)
    """Objects and jobs that nothing needs."""
    tidied: list[dict[str, Any]] = field(default_factory=list)
    """Reported contents of the workers' caches."""
    damage_blobs: int = 0
    """Number of next downloads that arrive with a changed byte."""
    forget_acknowledgement: int = 0
    """Number of next record batches that are stored but answered with 503."""
    acknowledged: int = 0
    blob_tokens: set[str] = field(default_factory=set)
    """Tokens of downloads and uploads of blobs."""
    order: list[str] = field(default_factory=list)
    """Received items in order: `blob <sha>`, `record <sequence>`."""


class StubWorkerApi(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int = 0, state: WorkerApiState | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.state = state or WorkerApiState()
        self.lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StubWorkerApi

    def log_message(self, *_: object) -> None:
        pass

    def _reply(self, status: int, body: Any = None, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _error(self, status: int, code: str) -> None:
        self._reply(status, {"error": {"message": f"refused: {code}", "code": code, "hint": None}})

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def do_PUT(self) -> None:
        data = self._body()
        state = self.server.state
        sha256 = self.path.rpartition("/")[2].partition("?")[0]
        state.blob_tokens.add(self.headers.get("authorization", ""))
        if state.away:
            return self._error(503, "unavailable")
        if state.refuse_blobs:
            return self._error(503, state.refuse_blobs)
        if state.redirect_blobs_to and self.path.startswith("/worker"):
            return self._reply(307, headers={"location": f"{state.redirect_blobs_to}/store/{sha256}"})
        if self.path.startswith("/store") and "authorization" in self.headers:
            return self._error(400, "token_leaked")
        with self.server.lock:
            state.blobs[sha256] = data
            state.order.append(f"blob {sha256}")
        self._reply(201)
        return None

    def do_GET(self) -> None:
        state = self.server.state
        if state.away:
            return self._error(503, "unavailable")
        sha256 = self.path.rpartition("/")[2]
        state.blob_tokens.add(self.headers.get("authorization", ""))
        if sha256 not in state.blobs:
            return self._error(404, "blob_not_found")
        data = state.blobs[sha256]
        if state.damage_blobs:
            state.damage_blobs -= 1
            data = data[:-1] + b"?"
        self._reply(200, data)
        return None

    def do_POST(self) -> None:
        state = self.server.state
        body = json.loads(self._body() or b"{}")
        if state.away:
            return self._error(503, "unavailable")
        parts = self.path.removeprefix("/worker/v1/").split("/")
        of_a_job = parts[0] == "jobs" and len(parts) == 3
        expected = "job-token" if of_a_job else TOKEN
        if self.headers["authorization"] != f"Bearer {expected}":
            return self._error(401, "invalid_api_key")
        match parts:
            case ["workers"]:
                state.workers.append(body)
                self._reply(204)
            case ["caches"]:
                state.tidied.append(body)
                unused = {
                    kind: [name for name in body[kind] if name in state.unused]
                    for kind in ("objects", "jobs")
                }
                self._reply(200, unused)
            case ["jobs", "claim"]:
                name = body["job"] or next(iter(state.queued), None)
                claimed = state.queued.pop(name, None)
                self._reply(200, claimed) if claimed else self._reply(204)
            case ["jobs", _, "heartbeat"]:
                self._heartbeat(body)
            case ["jobs", _, "records"]:
                self._records(body)
            case ["calls", "next"]:
                self._next_call(body)
            case ["calls", call, "chunks"]:
                self._chunk(call, body)
            case ["calls", call, "answer"]:
                state.answers[call] = body
                self._reply(204)
            case _:
                self._error(404, "unknown_path")
        return None

    def _heartbeat(self, body: dict[str, Any]) -> None:
        state = self.server.state
        state.heartbeats.append(body)
        if state.lease_taken:
            return self._error(409, "lease_lost")
        if state.refuse_heartbeats:
            return self._error(403, "not_allowed")
        waiting = [command for command in state.commands if command["id"] not in body["applied_commands"]]
        self._reply(200, {"lease_seconds": state.lease_seconds, "commands": waiting})
        return None

    def _records(self, body: dict[str, Any]) -> None:
        state = self.server.state
        if state.lease_taken:
            return self._error(409, "lease_lost")
        with self.server.lock:
            for record in body["records"]:
                if state.refuse_records and record["kind"] != "ended":
                    return self._error(422, "invalid_input")
                if record["sequence"] <= state.acknowledged:
                    continue  # sent before, the answer got lost
                assert record["sequence"] == state.acknowledged + 1, "a gap in the records"
                if "blob" in record:
                    assert record["blob"]["sha256"] in state.blobs, "a record before its blob"
                state.acknowledged = record["sequence"]
                state.records.append(record)
                state.order.append(f"record {record['sequence']}")
        if state.forget_acknowledgement:
            state.forget_acknowledgement -= 1
            return self._error(503, "unavailable")
        self._reply(200, {"acknowledged": state.acknowledged})
        return None

    def _chunk(self, call: str, body: dict[str, Any]) -> None:
        state = self.server.state
        state.posts.append((call, len(body["events"]), time.monotonic()))
        if call in state.hung_up:
            return self._error(404, "call_not_found")
        with self.server.lock:
            if body["events"]:
                chunks = state.chunks.setdefault(call, {})
                assert body["seq"] in (len(chunks), len(chunks) + 1), "a gap in the chunks"
                chunks.setdefault(body["seq"], body["events"])
        if state.forget_chunks and body["events"]:
            state.forget_chunks -= 1
            return self._error(503, "unavailable")
        self._reply(204)
        return None

    def _next_call(self, body: dict[str, Any]) -> None:
        state = self.server.state
        with self.server.lock:
            for call in state.calls:
                if call["kind"] in body["kinds"]:
                    state.calls.remove(call)
                    return self._reply(200, call)
        threading.Event().wait(min(0.05, body["wait_seconds"]))
        self._reply(204)
        return None
