"""Real requests and their answers, as they pass a backend: the examples of the OpenAPI document come from here."""

import json
import re
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_LIST = 2
LONGEST_TEXT = 400
_SECRETS = (
    (re.compile(r"rf-[A-Za-z0-9_-]{12,}"), "rf-EXAMPLE"),
    (re.compile(r"whsec_[A-Za-z0-9+/=]+"), "whsec_RVhBTVBMRQ=="),
    (re.compile(r"token=[A-Za-z0-9_%+-]+"), "token=EXAMPLE"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "https://reinforge.example.org"),
    (re.compile(r"zebra"), "sums"),
)


class Recorder:
    """ASGI middleware: keeps the first request of every operation that succeeded, with its answer."""

    examples: dict[str, dict[str, Any]]

    def __init__(self, app: ASGIApp, examples: dict[str, dict[str, Any]]) -> None:
        self.app, self.examples = app, examples

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["headers"] = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
        request, answered = bytearray(), bytearray()
        status, kind = 0, ""

        async def receive_and_record() -> Message:
            message = await receive()
            request.extend(message.get("body", b""))
            return message

        async def send_and_record(message: Message) -> None:
            nonlocal status, kind
            if message["type"] == "http.response.start":
                status = message["status"]
                kind = dict(message["headers"]).get(b"content-type", b"").decode().partition(";")[0]
            answered.extend(message.get("body", b""))
            await send(message)

        await self.app(scope, receive_and_record, send_and_record)
        operation = getattr(scope.get("route"), "operation_id", None)
        if operation is None or not 200 <= status < 300:
            return
        example: dict[str, Any] = {}
        if (body := _json(bytes(request))) is not None:
            example["request"] = body
        if kind == "application/json":
            example["response"] = {"status": str(status), "body": _json(bytes(answered))}
        elif kind == "text/event-stream":
            stream = bytes(answered).decode()
            events = stream[:LONGEST_TEXT].rpartition("\n\n")[0] or min(stream.split("\n\n")[:-1], key=len)
            example["stream"] = {"status": str(status), "body": f"{_plain(events)}\n\n"}
        self.examples.setdefault(operation, {}).update(
            {key: value for key, value in example.items() if key not in self.examples[operation]}
        )


def _json(content: bytes) -> Any:
    try:
        return _shorter(json.loads(content))
    except ValueError:
        return None


def _plain(text: str) -> str:
    """Without secrets, and without the names that tests give."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def _shorter(value: Any) -> Any:
    if isinstance(value, str):
        return _plain(value if len(value) <= 4 * LONGEST_TEXT else value[:LONGEST_TEXT])
    if isinstance(value, list):
        return [_shorter(item) for item in value[:LONGEST_LIST]]
    if isinstance(value, dict) and "$defs" in value:  # a JSON Schema: 120 kB that show nothing
        return {"title": value["title"], "type": value["type"], "properties": {}}
    if isinstance(value, dict):
        return {_plain(key): _shorter(item) for key, item in value.items()}
    return value
