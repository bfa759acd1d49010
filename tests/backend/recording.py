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

    found: dict[str, dict[str, Any]]

    def __init__(self, app: ASGIApp, found: dict[str, dict[str, Any]]) -> None:
        self.app, self.found = app, found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["headers"] = [each for each in scope["headers"] if each[0] != b"accept-encoding"]
        asked, answered = bytearray(), bytearray()
        status, kind = 0, ""

        async def heard() -> Message:
            message = await receive()
            asked.extend(message.get("body", b""))
            return message

        async def said(message: Message) -> None:
            nonlocal status, kind
            if message["type"] == "http.response.start":
                status = message["status"]
                kind = dict(message["headers"]).get(b"content-type", b"").decode().partition(";")[0]
            answered.extend(message.get("body", b""))
            await send(message)

        await self.app(scope, heard, said)
        operation = getattr(scope.get("route"), "operation_id", None)
        if operation is None or not 200 <= status < 300:
            return
        example: dict[str, Any] = {}
        if (body := _json(bytes(asked))) is not None:
            example["request"] = body
        if kind == "application/json":
            example["response"] = {"status": str(status), "body": _json(bytes(answered))}
        elif kind == "text/event-stream":
            text = _plain(bytes(answered).decode()[:LONGEST_TEXT].rpartition("\n\n")[0])
            example["stream"] = {"status": str(status), "body": f"{text}\n\n"}
        self.found.setdefault(operation, {}).update(
            {key: value for key, value in example.items() if key not in self.found[operation]}
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
        return [_shorter(each) for each in value[:LONGEST_LIST]]
    if isinstance(value, dict):
        return {_plain(key): _shorter(each) for key, each in value.items()}
    return value
