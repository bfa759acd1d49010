"""JSON-RPC of the Model Context Protocol: requests, and answers as JSON or server-sent events."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reinforge.parsing.json_depth import is_deeper

MAX_DEPTH = 64


class RpcError(Exception):
    """A JSON-RPC error that the server returned."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class RpcMalformed(Exception):
    """An answer that is not a JSON-RPC response."""


def request(method: str, params: Mapping[str, Any], id: int | None) -> bytes:
    """Encode a request, or a notification if `id` is None."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params:
        message["params"] = params
    if id is not None:
        message["id"] = id
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")


class AnswerWatch:
    """Detects the answer to request `id` in an event stream, which may stay open. Each call parses only new
    events.
    """

    def __init__(self, id: int) -> None:
        self._id, self._start = id, 0

    def __call__(self, content: bytearray, headers: Mapping[str, str]) -> bool:
        if not _is_stream(headers) or not content.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")):
            return False
        start, self._start = self._start, len(content)
        return any(_answers(message, self._id) for message in _messages(bytes(content[start:]), headers))


def result(content: bytes, headers: Mapping[str, str], id: int) -> dict[str, Any]:
    """The `result` of the answer to request `id`. Raises RpcError, RpcMalformed."""
    for message in _messages(content, headers):
        if not _answers(message, id):
            continue
        error = message.get("error")
        if isinstance(error, dict):
            code = error.get("code")
            raise RpcError(code if type(code) is int else 0, str(error.get("message") or "no message")[:1000])
        answer = message.get("result")
        if isinstance(answer, dict):
            return answer
        break
    excerpt = content[:200].decode("utf-8", "replace")
    raise RpcMalformed(f"the server's answer is not a JSON-RPC response: {excerpt!r}")


def _answers(message: Any, id: int) -> bool:
    return (
        isinstance(message, dict) and message.get("id") == id and ("result" in message or "error" in message)
    )


def _messages(content: bytes, headers: Mapping[str, str]) -> Iterator[Any]:
    for text in _events(content) if _is_stream(headers) else (content,):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not is_deeper(value, MAX_DEPTH):
            yield value


def _is_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith("text/event-stream")


def _events(content: bytes) -> Iterator[bytes]:
    data: list[bytes] = []
    for line in (*content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), b""):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []
