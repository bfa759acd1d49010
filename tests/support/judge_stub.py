"""Stub of a judge on loopback: OpenAI's chat completions over HTTP, with scripted replies and faults."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Reply:
    """A reply of the stub. drip: one byte after another until the client leaves; hang: nothing at all."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drip: bool = False
    hang: bool = False


def completion(
    content: Any,
    *,
    refusal: str | None = None,
    finish_reason: str = "stop",
    tokens: tuple[int, int] = (100, 20),
) -> Reply:
    """A chat completion; content other than text is sent as JSON."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    message = {"role": "assistant", "content": text, "refusal": refusal}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return Reply(json.dumps({"id": "c", "choices": [choice], "usage": usage}).encode())


def judged(result: Any, field: str = "result") -> Reply:
    return completion({"steps": [{"description": "looked", "conclusion": "seen"}], field: result})


@dataclass
class JudgeRequest:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n".join(str(message["content"]) for message in self.body.get("messages", []))


class Stub:
    """`behave(request, number)` returns the reply; `number` counts from 1."""

    def __init__(self, behave: Callable[[JudgeRequest, int], Reply]) -> None:
        self.behave = behave
        self.requests: list[JudgeRequest] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                stub._serve(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = JudgeRequest(handler.path, headers, json.loads(raw), raw)
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self._answer(handler, self.behave(request, number))
        except OSError:  # the client has left
            handler.close_connection = True
        finally:
            with self._lock:
                self._at_once -= 1

    def _answer(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        if reply.hang:
            self._over.wait(30)
            handler.close_connection = True
            return
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        if reply.drip:
            handler.send_header("content-length", "1000000")
            handler.end_headers()
            while not self._over.wait(0.02):
                handler.wfile.write(b" ")
            handler.close_connection = True
            return
        handler.send_header("content-length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body)
