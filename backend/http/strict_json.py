"""Strict JSON bodies: no NaN, Infinity, lone surrogates, excessive depth, or NUL, which PostgreSQL cannot store."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

from backend.access.body_limits import needs_identity
from reinforge.errors import InvalidInput
from reinforge.parsing.json_depth import DEEPEST, is_deeper, is_wider

MOST_KEYS = 10_000
_ESCAPED_NUL = b"\\u0000"
MOST_PARTS = 100_000
MOST_PARTS_OF_STRANGERS = 1000
MOST_COMMAS = 1_000_000


class _Strict(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = self.checked(await self.body())
        return self._json

    def checked(self, body: bytes) -> Any:
        stranger = not needs_identity(self.scope["path"])
        _check_parts(body, MOST_PARTS_OF_STRANGERS if stranger else MOST_PARTS)
        value = _parsed(body)
        if _ESCAPED_NUL in body and replace_nul(value) != value:
            raise json.JSONDecodeError(
                "NUL characters cannot be stored", body.decode(), body.index(_ESCAPED_NUL)
            )
        return value


class _Lenient(_Strict):
    def checked(self, body: bytes) -> Any:
        value = _parsed(body)
        return replace_nul(value) if _ESCAPED_NUL in body else value


def _check_parts(body: bytes, most: int) -> None:
    if len(body) <= most:
        return
    if body.count(b"{") + body.count(b"[") > most or body.count(b",") > MOST_COMMAS:
        raise InvalidInput(
            f"The JSON has more than {most:,} objects and lists, or {MOST_COMMAS:,} values.",
            code="too_many_parts",
            hint="Send several smaller requests, or upload rows as a dataset.",
        )


def _parsed(body: bytes) -> Any:
    value = orjson.loads(body)
    if body.count(b"[") + body.count(b"{") > DEEPEST and is_deeper(value):
        raise InvalidInput(
            f"The JSON is nested more than {DEEPEST} levels deep.", code="nested_too_deep", hint="Flatten it."
        )
    if body.count(b":") > MOST_KEYS and is_wider(value, MOST_KEYS):
        raise InvalidInput(
            f"An object in the JSON has more than {MOST_KEYS:,} keys.",
            code="too_many_keys",
            hint="If values are used as keys, send a list instead.",
        )
    return value


def replace_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, list):
        return [replace_nul(item) for item in value]
    if isinstance(value, dict):
        return {replace_nul(key): replace_nul(item) for key, item in value.items()}
    return value


class ResponseReady(Exception):
    """Raised by a dependency that has the response already, to skip the endpoint."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class RecordedRoute(APIRoute):
    """Route that passes the response to `request.state.keep_answer`, if set, before the commit."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def respond(request: Request) -> Response:
            try:
                response = await handler(request)
            except ResponseReady as early:
                return early.response
            if (keep := getattr(request.state, "keep_answer", None)) is not None:
                await keep(response)
            request.state.answer = bytes(getattr(response, "body", b""))
            return response

        return respond


class StrictRoute(RecordedRoute):
    request_class: type[_Strict] = _Strict

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(self.request_class(request.scope, request.receive))

        return strict


class WorkerRoute(StrictRoute):
    request_class = _Lenient
