"""Outermost middleware, which counts and times requests by the route's template."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.telemetry.process_figures import REQUEST_SECONDS, REQUESTS, REQUESTS_IN_PROGRESS

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
PAGE, UNROUTED = "page", "unrouted"
"""Labels of the page's files, and of requests that no route has served: unknown paths, refusals before routing."""


class RequestFigures:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, code = time.perf_counter(), 0
        seconds = 0.0

        async def send_counted(message: Message) -> None:
            nonlocal code, seconds
            if message["type"] == "http.response.start":
                code, seconds = message["status"], time.perf_counter() - began
            await send(message)

        REQUESTS_IN_PROGRESS.inc()
        try:
            await self.app(scope, receive, send_counted)
        finally:
            REQUESTS_IN_PROGRESS.dec()
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            route = _route(scope, code)
            REQUESTS.labels(method, route, code or "none").inc()  # none: the client has hung up
            if code:
                REQUEST_SECONDS.labels(method, route).observe(seconds)


def _route(scope: Scope, code: int) -> str:
    template = getattr(scope.get("route"), "path", None)
    if isinstance(template, str):
        return template
    return PAGE if 200 <= code < 400 else UNROUTED
