"""Separate port for the worker API (`REINFORGE_WORKER_LISTEN`): the connection's port decides which API is
available.
"""

from starlette.types import ASGIApp, Receive, Scope, Send

from backend.http.errors import error_response
from reinforge.errors import NotFound

_OF_BOTH = ("/healthz", "/readyz")


class WorkerListener:
    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app, self.port = app, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _OF_BOTH:
            await self.app(scope, receive, send)
            return
        _, port = scope.get("server") or (None, None)
        if (port == self.port) == scope["path"].startswith("/worker/"):
            await self.app(scope, receive, send)
            return
        error = NotFound(
            f"There is nothing at {scope['path']} on this port.",
            code="unknown_path",
            hint="The worker API has an address of its own here (REINFORGE_WORKER_LISTEN).",
        )
        response = error_response(error, scope.get("state", {}).get("request_id"))
        await response(scope, receive, send)
