"""Both sides of a streaming call: a client that reads events and an RPC worker that sends scripted ones."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx

from tests.backend.server import OWNER_KEY, Backend, wait_until

BODY: dict[str, Any] = {"model": "tiny", "prompts": [[{"role": "user", "content": "1+1="}]]}


class Client(threading.Thread):
    """Asks for completions and keeps what comes; `hang_up` leaves in the middle."""

    def __init__(self, backend: Backend, **fields: Any) -> None:
        super().__init__(daemon=True)
        self._http = backend.client(OWNER_KEY, "/api/v1")
        self._body = BODY | fields
        self.events: list[dict[str, Any]] = []
        self.status: int | None = None
        self._response: httpx.Response | None = None
        self._leaving = False

    def run(self) -> None:
        try:
            with self._http.stream("POST", "/sample", json=self._body) as response:
                self.status, self._response = response.status_code, response
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        self.events.append(json.loads(line.removeprefix("data: ")))
        except httpx.HTTPError:
            if not self._leaving:
                raise

    def hang_up(self) -> None:
        self._leaving = True
        self._http.close()

    def end(self) -> dict[str, Any]:
        """The last event, once the stream has ended."""
        self.join(30)
        assert not self.is_alive(), "the stream does not end"
        return self.events[-1]

    def texts(self) -> list[str]:
        return [event["text"] for event in self.events if event["type"] == "delta"]


class Player:
    """An RPC worker that takes one call and sends what the test passes."""

    def __init__(self, backend: Backend, process: str | None = None) -> None:
        self.backend = backend
        self.id = f"wrk_player_{time.monotonic_ns()}"
        self.process = process
        self.call: dict[str, Any] = {}
        self.register()

    def register(self, process: str | None = None) -> None:
        body = {"id": self.id, "kind": "calls", "hostname": "here", "version": "0"}
        body["process"] = process or self.process
        assert self.backend.worker_api.post("/workers", json=body).status_code == 204

    def take(self, kind: str = "sample") -> dict[str, Any]:
        """The call's payload."""
        body = {"worker": self.id, "kinds": [kind], "wait_seconds": 0.2}

        def taken() -> Any:
            response = self.backend.worker_api.post("/calls/next", json=body)
            return response.json() if response.status_code == 200 else None

        self.call = wait_until(taken, "the call")
        payload: dict[str, Any] = self.call["payload"]
        return payload

    def chunk(self, seq: int, *texts: str) -> httpx.Response:
        events = [{"type": "delta", "prompt": 0, "sample": 0, "text": text} for text in texts]
        return self.tell(seq, *events)

    def tell(self, seq: int, *events: dict[str, Any]) -> httpx.Response:
        body = {"seq": seq, "events": list(events)}
        return self.backend.worker_api.post(f"/calls/{self.call['id']}/chunks", json=body)

    def answer(self, **answer: Any) -> httpx.Response:
        return self.backend.worker_api.post(f"/calls/{self.call['id']}/answer", json=answer)

    def gone_for(self, seconds: float) -> None:
        self.backend.sql(
            "UPDATE worker SET last_seen_at = now() - %s * interval '1 s' WHERE id = %s", seconds, self.id
        )

    def calls(self) -> int:
        [(count,)] = self.backend.sql("SELECT count(*) FROM call WHERE id = %s", self.call["id"])
        return int(count)


@contextlib.contextmanager
def player(backend: Backend, process: str | None = None) -> Iterator[Player]:
    playing = Player(backend, process)
    try:
        yield playing
    finally:
        backend.sql("DELETE FROM worker WHERE id = %s", playing.id)
