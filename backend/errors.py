"""Every failure leaves the backend in one envelope, with a request id that is also in the log.

`install(app)` adds the handlers and the middleware. Endpoints and services raise `ReinforgeError`s; what else
comes up is mapped here once: requests that do not validate, unknown paths and methods, a database that does not
answer, and the unexpected.
"""

import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reinforge.errors import InvalidInput, NotFound, ReinforgeError, Unavailable
from reinforge.locations import dotted

log = logging.getLogger(__name__)

REQUEST_ID = re.compile(r"^[A-Za-z0-9._-]{1,100}$")


def error_response(error: ReinforgeError, request_id: str | None) -> JSONResponse:
    """The one shape of every error; conflicts carry `x-should-retry: false`, since the OpenAI SDK retries every 409."""
    headers: dict[str, str] = {}
    if error.status == 409:
        headers["x-should-retry"] = "false"
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    if error.status == 429:
        headers["retry-after"] = "60"
    if error.status == 503:
        headers["retry-after"] = "2"
    return JSONResponse(error.envelope(request_id), error.status, headers)


def field_path(location: Sequence[str | int], body: Any, *, missing: bool = False) -> str | None:
    """Pydantic's location as `rewards[0].source`: without the part of the request and without union tags.

    missing: the last part names a field that the body lacks, not a tag.
    """
    parts = location[1:] if location and location[0] in ("body", "query", "path", "header") else location
    return dotted(parts, body, missing=missing) or None


def listed_errors(errors: Sequence[Mapping[str, Any]], body: Any) -> list[dict[str, Any]]:
    """Pydantic's errors as `{param, message, code, hint}` of the envelope."""
    return [
        {
            "param": each.get("ctx", {}).get("param")
            or field_path(each["loc"], body, missing=each["type"] == "missing"),
            "message": str(each["msg"]).removeprefix("Value error, "),
            "code": each["type"],
            "hint": _HINTS.get(each["type"]),
        }
        for each in errors
    ]


_HINTS = {
    "extra_forbidden": "Unknown keys are errors: check the spelling, or remove it.",
    "json_invalid": "The body must be one JSON document in UTF-8.",
}


def validation_error(errors: Sequence[Mapping[str, Any]], body: Any) -> InvalidInput:
    """One error for all fields at fault; `param` and the message are the first one's."""
    listed = listed_errors(errors, body)
    first = listed[0] if listed else {"param": None, "message": "The request is not valid.", "hint": None}
    message = f"{first['param']}: {first['message']}" if first["param"] else str(first["message"])
    return InvalidInput(message, param=first["param"], hint=first["hint"], errors=listed)


def _request_id(request: Request) -> str | None:
    return getattr(request.state, "request_id", None)


async def _known(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ReinforgeError)
    return error_response(error, _request_id(request))


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return error_response(validation_error(error.errors(), error.body), _request_id(request))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, ReinforgeError):  # raised while FastAPI read the body
        return error_response(error.__cause__, _request_id(request))
    if error.status_code == 404:
        known: ReinforgeError = NotFound(f"There is nothing at {request.url.path}.", code="unknown_path")
    else:
        known = ReinforgeError(str(error.detail), code=f"http_{error.status_code}")
        known.status = error.status_code
        known.type = "invalid_request_error" if error.status_code < 500 else "server_error"
        if error.status_code == 405:
            known.code = "method_not_allowed"
            known.message = f"{request.method} is not possible at {request.url.path}."
    response = error_response(known, _request_id(request))
    response.headers.update(error.headers or {})
    return response


async def _database(request: Request, error: Exception) -> JSONResponse:
    log.warning("the database does not answer: %s", error)
    known = Unavailable(
        "The database does not answer.",
        code="database_unavailable",
        hint="Try again in a moment; `GET /readyz` tells when it is back.",
    )
    return error_response(known, _request_id(request))


class RequestIds:
    """ASGI middleware: gives every response an `x-request-id`, and turns the unexpected into a 500 envelope."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        request_id = given if REQUEST_ID.match(given) else "req_" + secrets.token_hex(12)
        scope.setdefault("state", {})["request_id"] = request_id
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            error = InvalidInput("The address contains a NUL character.", code="nul_character")
            if scope["path"].startswith("/v1/"):
                error.status = 400  # as `openai.wire` has it
            response = error_response(error, request_id)
            response.headers["x-request-id"] = request_id
            await response(scope, receive, send)
            return
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        except Exception:
            log.exception("request %s failed: %s %s", request_id, scope["method"], scope["path"])
            if started:
                raise
            unexpected = ReinforgeError(
                "Something went wrong in the backend.",
                hint=f"The backend's log has the details under {request_id}.",
            )
            await error_response(unexpected, request_id)(scope, receive, send_with_id)


def install(app: FastAPI) -> None:
    """Add the handlers and the request-id middleware to an application."""
    app.add_exception_handler(ReinforgeError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    for kind in (OperationalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(kind, _database)
    app.add_middleware(RequestIds)
