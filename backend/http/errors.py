"""Error responses: one envelope with a request id for every failure."""

import logging
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from psycopg.errors import ForeignKeyViolation, QueryCanceled
from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm.exc import StaleDataError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reinforge.errors import (
    BudgetSpent,
    InvalidInput,
    NotFound,
    ReinforgeError,
    TooManyRequests,
    Unavailable,
    deleted_meanwhile,
)
from reinforge.parsing.validation import MOST_PROBLEMS, problems
from reinforge.system.logs import job_in, log_context

log = logging.getLogger(__name__)

Schema = Callable[[], Mapping[str, Any]]
_SCHEMA_ATTRIBUTE = "schema_of_body"
_OUTSIDE_BODY = (("query",), ("path",), ("header",))

REQUEST_ID = re.compile(r"^[A-Za-z0-9._-]{1,100}$")


def error_response(error: ReinforgeError, request_id: str | None) -> JSONResponse:
    """Error response. Conflicts and spent budgets carry `x-should-retry: false`, since the OpenAI SDK retries
    every 409 and 429.
    """
    headers: dict[str, str] = {}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    if error.status == 409 or isinstance(error, BudgetSpent):
        headers["x-should-retry"] = "false"
    elif isinstance(error, TooManyRequests):
        headers["retry-after"] = str(error.retry_after)
    if error.status == 503:
        headers["retry-after"] = "2"
    return JSONResponse(error.envelope(request_id), error.status, headers)


def listed_errors(
    errors: Sequence[Mapping[str, Any]], body: Any, schema: Schema | None = None
) -> list[dict[str, Any]]:
    once = None if schema is None else cache(schema)
    listed = []
    for problem in errors[:MOST_PROBLEMS]:
        place, value, fields = tuple(problem["loc"]), body, once
        if place[:1] == ("body",):
            place = place[1:]
        elif place[:1] in _OUTSIDE_BODY:
            place, fields = place[1:], None
            value = {name: problem.get("input") for name in place[:1]}
        listed += problems([{**problem, "loc": place}], value, fields)
    return listed


def validation_error(
    errors: Sequence[Mapping[str, Any]], body: Any, schema: Schema | None = None
) -> InvalidInput:
    listed = listed_errors(errors, body, schema)
    first = listed[0] if listed else {"param": None, "message": "The request is not valid.", "hint": None}
    message = f"{first['param']}: {first['message']}" if first["param"] else str(first["message"])
    return InvalidInput(message, param=first["param"], hint=first["hint"], errors=listed)


def body_schema(request: Request) -> Schema | None:
    route = request.scope.get("route")
    return None if getattr(route, "body_field", None) is None else lambda: _schema_of(route)


def _schema_of(route: Any) -> Mapping[str, Any]:
    cached = getattr(route, _SCHEMA_ATTRIBUTE, None)
    if cached is None:
        try:
            cached = TypeAdapter(route.body_field.field_info.annotation).json_schema()
        except (PydanticUserError, AttributeError):  # multipart forms have none, so no suggestions
            cached = {}
        setattr(route, _SCHEMA_ATTRIBUTE, cached)
    schema: Mapping[str, Any] = cached
    return schema


def _request_id(request: Request) -> str | None:
    return getattr(request.state, "request_id", None)


async def _reinforge_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ReinforgeError)
    return answer(request, error)


def answer(request: Request, error: ReinforgeError) -> JSONResponse:
    response = error_response(error, _request_id(request))
    if not request.url.path.startswith("/v1/"):
        return response
    # OpenAI's clients print the message alone: place and remedy have to be in it.
    content = error.envelope(_request_id(request))
    content["error"]["message"] = in_one_sentence(error)
    content["error"].pop("faults", None)  # its uploads cannot skip rows
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return JSONResponse(content, error.status, headers)


def in_one_sentence(error: ReinforgeError) -> str:
    message, detail = error.message, error.errors[0] if error.errors else {}
    if detail.get("line") and "line" not in message:
        column = f", column {detail['column']}" if detail.get("column") else ""
        message = f"Line {detail['line']}{column}: {message}"
    if error.hint and error.hint not in message:
        message += f" {error.hint}" if message.endswith((".", "?", "!")) else f". {error.hint}"
    return message


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return answer(request, validation_error(error.errors(), error.body, body_schema(request)))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, ReinforgeError):  # raised while FastAPI read the body
        if isinstance(error.__cause__, InvalidInput) and request.url.path.startswith("/v1/"):
            error.__cause__.status = 400  # as `openai.conventions` has it
        return answer(request, error.__cause__)
    if error.status_code == 404:
        mapped: ReinforgeError = NotFound(f"There is nothing at {request.url.path}.", code="unknown_path")
    else:
        mapped = ReinforgeError(str(error.detail), code=f"http_{error.status_code}")
        mapped.status = error.status_code
        mapped.type = "invalid_request_error" if error.status_code < 500 else "server_error"
        if error.status_code == 405:
            mapped.code = "method_not_allowed"
            mapped.message = f"{request.method} is not possible at {request.url.path}."
    response = answer(request, mapped)
    response.headers.update(error.headers or {})
    return response


async def _database(request: Request, error: Exception) -> JSONResponse:
    return database_answer(request, error)


def database_answer(request: Request, error: Exception) -> JSONResponse:
    if isinstance(getattr(error, "orig", None), QueryCanceled):
        log.warning("a statement took too long: %s", error)
        slow = Unavailable(
            "The database took too long for this request.",
            code="statement_too_slow",
            hint="Ask for less, or try again later. REINFORGE_STATEMENT_SECONDS is the limit.",
        )
        return answer(request, slow)
    log.warning("the database does not answer: %s", error)
    mapped = Unavailable(
        "The database does not answer.",
        code="database_unavailable",
        hint="Try again in a moment; `GET /readyz` tells when it is back.",
    )
    return answer(request, mapped)


async def _integrity(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, IntegrityError)
    if not isinstance(error.orig, ForeignKeyViolation):
        raise error
    log.info("a row refers to a deleted row, or another row still refers to a row to delete: %s", error)
    return answer(request, deleted_meanwhile())


async def _stale(request: Request, error: Exception) -> JSONResponse:
    log.info("a row was deleted before it could be changed: %s", error)
    return answer(request, deleted_meanwhile())


class RequestIds:
    """Middleware that adds `x-request-id` and turns unexpected exceptions into a 500 envelope."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        client_id = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        request_id = client_id if REQUEST_ID.match(client_id) else "req_" + secrets.token_hex(12)
        scope.setdefault("state", {})["request_id"] = request_id
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            error = InvalidInput("The address contains a NUL character.", code="nul_character")
            if scope["path"].startswith("/v1/"):
                error.status = 400  # as `openai.conventions` has it
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

        with log_context(request_id=request_id, job=job_in(scope["path"])):
            await self._serve(scope, receive, send_with_id, lambda: started)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, started: Callable[[], bool]) -> None:
        request_id = scope["state"]["request_id"]
        try:
            await self.app(scope, receive, send)
        except Exception:
            log.exception("request %s failed: %s %s", request_id, scope["method"], scope["path"])
            if started():
                raise
            unexpected = ReinforgeError(
                "Something went wrong in the backend.",
                hint=f"The backend's log has the details under {request_id}.",
            )
            await error_response(unexpected, request_id)(scope, receive, send)


def install(app: FastAPI) -> None:
    app.add_exception_handler(ReinforgeError, _reinforge_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    for kind in (OperationalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(kind, _database)
    app.add_exception_handler(IntegrityError, _integrity)
    app.add_exception_handler(StaleDataError, _stale)
    app.add_middleware(RequestIds)
