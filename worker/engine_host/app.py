"""HTTP API of an engine host (`protocol`)."""

import hmac
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reinforge.errors import InvalidInput, NotAuthenticated, ReinforgeError, StateConflict, TooLarge
from worker.engine_host.host import EngineHost
from worker.engine_host.leases import held_adapter
from worker.engine_host.protocol import HostLease, LeaseRequest
from worker.engine_host.relay import CompletionRelay
from worker.engine_host.replies import error_response, on_error, on_fault, shape_response
from worker.rollout.vllm.options import BASE

MAX_REQUEST_BYTES = 64 * 2**20


class HostApi:
    def __init__(self, host: EngineHost, end: Callable[[], bool] | None) -> None:
        """end: ends an unused host; None: this API cannot."""
        self._host, self._end = host, end

    def routes(self) -> list[Route]:
        lease = "/v1/leases/{lease}"
        return [
            Route("/v1/host", self.facts),
            Route("/v1/end", self.end, methods=["POST"]),
            Route("/v1/leases", self.open, methods=["POST"]),
            Route(lease, self.renew, methods=["PUT"]),
            Route(lease, self.close, methods=["DELETE"]),
            Route(lease + "/health", self.health),
            Route(lease + "/v1/models", self.models),
            Route(lease + "/v1/completions", self.complete, methods=["POST"]),
            Route(lease + "/adapters/{name}", self.load, methods=["PUT"]),
            Route(lease + "/adapters/{name}", self.unload, methods=["DELETE"]),
        ]

    async def facts(self, _: Request) -> Response:
        return shape_response(self._host.facts())

    async def end(self, _: Request) -> Response:
        if self._end is None or not self._end():
            raise StateConflict("This engine host is in use.", code="sampler_host_in_use")
        return Response(status_code=202)

    async def open(self, request: Request) -> Response:
        try:
            lease_request = LeaseRequest.model_validate_json(await _body(request, 2**16))
        except ValidationError as error:
            raise InvalidInput(f"Not a lease request: {error.errors(include_url=False)[0]['msg']}") from error
        holder = self._host.open(lease_request)
        facts = self._host.facts()
        return shape_response(HostLease(lease=holder.id, seconds=self._host.leases.seconds, facts=facts), 201)

    async def renew(self, request: Request) -> Response:
        self._host.leases.renew(request.path_params["lease"])
        return Response(status_code=204)

    async def close(self, request: Request) -> Response:
        await self._host.close_lease(request.path_params["lease"])
        return Response(status_code=204)

    async def health(self, request: Request) -> Response:
        self._host.leases.renew(request.path_params["lease"])
        self._host.sampler.api()
        return Response(status_code=200)

    async def models(self, request: Request) -> Response:
        holder = self._host.leases.renew(request.path_params["lease"])
        return JSONResponse({"data": [{"id": name} for name in (BASE, *holder.adapters)]})

    async def load(self, request: Request) -> Response:
        holder = self._host.leases.renew(request.path_params["lease"])
        try:
            config_bytes = int(request.query_params["config"])
        except (KeyError, ValueError) as error:
            raise InvalidInput("Give the bytes of the configuration.", param="config") from error
        await self._host.load(holder, request.path_params["name"], config_bytes, request.stream())
        return Response(status_code=200)

    async def unload(self, request: Request) -> Response:
        holder = self._host.leases.renew(request.path_params["lease"])
        await self._host.unload(holder, held_adapter(holder, request.path_params["name"]))
        return Response(status_code=200)

    async def complete(self, request: Request) -> CompletionRelay:
        holder = self._host.leases.renew(request.path_params["lease"])
        body = _json(await _body(request, MAX_REQUEST_BYTES))
        name = body.get("model")
        adapted = name != BASE
        if adapted:
            body["model"] = held_adapter(holder, str(name)[:200]).name
        return CompletionRelay(self._host.sampler, self._host.turns, holder, body, adapted=adapted)


def application(host: EngineHost, *, token: str | None, end: Callable[[], bool] | None = None) -> ASGIApp:
    api = HostApi(host, end)
    handlers: dict[Any, Any] = {ReinforgeError: on_error, Exception: on_fault}
    inner = Starlette(routes=api.routes(), exception_handlers=handlers)
    return inner if token is None else TokenCheck(inner, token)


class TokenCheck:
    """Refuses requests without the token before their bodies are read."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner, self._expected = inner, b"Bearer " + token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            value = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(value, self._expected):
                error = NotAuthenticated(
                    "The engine host does not accept this token.", code="sampler_token_refused"
                )
                await error_response(error)(scope, receive, send)
                return
        await self._inner(scope, receive, send)


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise TooLarge(f"The request is larger than {most:,} bytes.", param="body")
    return bytes(body)


def _json(body: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        value = json.loads(body)
        if isinstance(value, dict):
            return value
    raise InvalidInput("The request is not a JSON object.", param="body")
