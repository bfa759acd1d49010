"""Stub of an MCP server on loopback: streamable HTTP with two tools, and scripted faults."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

SEARCH = {
    "name": "search",
    "description": "Search the documents.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
ECHO = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}}

Script = Callable[["McpStub", dict[str, Any]], "Faults | None"]


@dataclass
class Faults:
    """What a script does instead of a right answer."""

    body: bytes | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    result: Any = None
    error: Any = None


def _no_faults(stub: "McpStub", message: dict[str, Any]) -> None:
    return None


@dataclass
class McpStub:
    """script: for each message, a fault or None. stream: answer as server-sent events and leave the stream open."""

    script: Script = _no_faults
    stream: bool = False
    version: str = "2025-06-18"
    tools: list[Any] = field(default_factory=lambda: [SEARCH, ECHO])
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    bodies: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    sessions: int = 0

    def __enter__(self) -> Self:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                stub._post(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/mcp"
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def calls(self) -> list[dict[str, Any]]:
        return [message for _, message in self.requests if message["method"] == "tools/call"]

    def _post(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers["content-length"]))
        message = json.loads(raw)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.bodies.append((headers, raw))
        self.requests.append((headers, message))
        fault = self.script(self, message)
        if fault is not None and fault.hang:
            self._closing.wait(30)
            return None
        if "id" not in message:
            return self._send(handler, 202, {}, b"")
        if fault is not None and (fault.body is not None or fault.status != 200):
            return self._send(handler, fault.status, fault.headers, fault.body or b"")
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if fault is not None and fault.error is not None:
            answer["error"] = fault.error
        else:
            answer["result"] = fault.result if fault is not None else self._result(message)
        headers = {"content-type": "application/json"}
        if message["method"] == "initialize":
            self.sessions += 1
            headers["mcp-session-id"] = f"session-{self.sessions}"
        if not self.stream:
            return self._send(handler, 200, headers, json.dumps(answer).encode())
        return self._stream(handler, headers, answer)

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            return {
                "protocolVersion": self.version,
                "capabilities": {},
                "serverInfo": {"name": "s", "version": "1"},
            }
        if message["method"] == "tools/list":
            cursor = int(message.get("params", {}).get("cursor", "0"))
            more = {"nextCursor": str(cursor + 1)} if cursor + 1 < len(self.tools) else {}
            return {"tools": self.tools[cursor : cursor + 1], **more}
        text = json.dumps(message["params"]["arguments"])
        return {"content": [{"type": "text", "text": text}]}

    def _stream(
        self, handler: BaseHTTPRequestHandler, headers: dict[str, str], answer: dict[str, Any]
    ) -> None:
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        handler.send_response(200)
        for name, value in (headers | {"content-type": "text/event-stream", "connection": "close"}).items():
            handler.send_header(name, value)
        handler.end_headers()
        for event in (progress, answer):
            handler.wfile.write(f"event: message\ndata: {json.dumps(event)}\n\n".encode())
            handler.wfile.flush()
            time.sleep(0.01)
        self._closing.wait(10)

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
