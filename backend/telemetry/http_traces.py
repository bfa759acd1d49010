"""A span for each request of the native API and of OpenAI's, continuing the client's trace."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reinforge.system import tracing
from reinforge.system.logs import job_in

_TRACED = ("/api/v1/", "/v1/")
"""Prefixes of traced paths. Long polls and heartbeats of the worker API, pages and probes would hide the
other requests.
"""


class RequestTraces:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(_TRACED):
            await self.app(scope, receive, send)
            return
        parent = dict(scope["headers"]).get(b"traceparent", b"").decode("latin-1") or None
        code = 0

        async def send_noted(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)

        with tracing.span(scope["method"], parent, kind="server") as request:
            try:
                await self.app(scope, receive, send_noted)
            finally:
                route = getattr(scope.get("route"), "path", None)
                if route is not None:
                    request.rename(f"{scope['method']} {route}")
                request.set(
                    {
                        "http.request.method": scope["method"],
                        "http.route": route,
                        "http.response.status_code": code or None,
                        "reinforge.request_id": scope.get("state", {}).get("request_id"),
                        "reinforge.job": job_in(scope["path"]),
                    }
                )
                if code >= 500:
                    request.fail(str(code))
