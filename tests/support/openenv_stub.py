"""Stub of an OpenEnv server on loopback: `/schema` over HTTP, sessions over WebSockets, and scripted faults."""

import http
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

ACTION = {
    "title": "Guess",
    "description": "Guess the number.",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "metadata": {"type": "object"},
        "number": {"type": "integer", "description": "Your guess."},
    },
    "required": ["number"],
}
CALL_ACTION = {
    "type": "object",
    "properties": {
        "type": {"const": "call_tool"},
        "tool_name": {"type": "string"},
        "arguments": {"type": "object"},
    },
    "required": ["tool_name"],
}
ADD = {"name": "add", "description": "Add.", "input_schema": {"type": "object", "properties": {}}}


@dataclass(frozen=True)
class Fault:
    """What a script does instead of a right answer: hang, close, or send `raw`."""

    raw: Any = None
    hang: bool = False
    close: bool = False


Script = Callable[["OpenEnvStub", dict[str, Any]], Fault | None]


@dataclass
class OpenEnvStub:
    """A game of guessing `seed % 10`. script: for each message, a fault or None. schema: body of `/schema`, or a
    status.
    """

    script: Script = lambda stub, message: None
    action: Any = field(default_factory=lambda: ACTION)
    schema: bytes | int | None = None
    tools: list[Any] = field(default_factory=lambda: [ADD])
    most_sessions: int = 1000
    tls: ssl.SSLContext | None = None
    status: int | None = None
    """Answer to a WebSocket's request instead of a session."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    handshakes: list[dict[str, str]] = field(default_factory=list)
    open_sessions: int = 0

    def __enter__(self) -> Self:
        self._closing, self._lock = threading.Event(), threading.Lock()
        self._server: Server = serve(
            self._session,
            "127.0.0.1",
            0,
            process_request=self._request,
            compression=None,
            max_size=None,
            ssl=self.tls,
        )
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.socket.getsockname()[1]}/env"
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()

    def sent(self, kind: str) -> list[dict[str, Any]]:
        return [message["data"] for message in self.messages if message["type"] == kind]

    def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        headers = {name.lower(): value for name, value in request.headers.raw_items()}
        self.handshakes.append(headers | {":path": request.path})
        if request.path == "/env/ws":
            return None if self.status is None else _response(self.status, b"")
        if request.path != "/env/schema":
            return _response(404, b"not found")
        if isinstance(self.schema, int):
            return _response(self.schema, b"")
        body = {"action": self.action, "observation": {}, "state": {}}
        return _response(200, self.schema if self.schema is not None else json.dumps(body).encode())

    def _session(self, connection: ServerConnection) -> None:
        with self._lock:
            self.open_sessions += 1
        try:
            self._talk(connection)
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                self.open_sessions -= 1

    def _talk(self, connection: ServerConnection) -> None:
        if self.open_sessions > self.most_sessions:
            connection.send(_error("CAPACITY_REACHED", "Server at capacity."))
            return
        seed = 0
        for text in connection:
            message = json.loads(text)
            self.messages.append(message)
            if message["type"] == "close":
                return
            fault = self.script(self, message)
            if fault is not None and fault.hang:
                self._closing.wait(20)
                return
            if fault is not None and fault.close:
                return
            if fault is not None:
                connection.send(fault.raw if isinstance(fault.raw, str | bytes) else json.dumps(fault.raw))
                continue
            if message["type"] == "reset":
                seed = message["data"].get("seed", 0)
            connection.send(json.dumps(self._answer(message, seed)))

    def _answer(self, message: dict[str, Any], seed: int) -> dict[str, Any]:
        data = message["data"]
        if message["type"] == "reset":
            return observation({"metadata": {"seed": seed}, "hint": "Guess a number below 10."})
        if data.get("type") == "list_tools":
            return observation({"tools": self.tools})
        if data.get("type") == "call_tool":
            content = [{"type": "text", "text": json.dumps(data["arguments"])}]
            return observation(
                {"tool_name": data["tool_name"], "result": {"content": content}, "error": None}
            )
        right = data.get("number") == seed % 10
        return observation({"hint": "Right!" if right else "Wrong."}, 1.0 if right else -0.5, right)


def observation(fields: dict[str, Any], reward: Any = None, done: Any = False) -> dict[str, Any]:
    return {"type": "observation", "data": {"observation": fields, "reward": reward, "done": done}}


def _error(code: str, message: str) -> str:
    return json.dumps({"type": "error", "data": {"message": message, "code": code}})


def _response(status: int, body: bytes) -> Response:
    headers = Headers({"content-type": "application/json", "content-length": str(len(body)), "location": "/"})
    return Response(status, http.HTTPStatus(status).phrase, headers, body)
