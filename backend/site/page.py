"""Web page: its built files, with `index.html` for every path that the page routes."""

import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from backend.http.compression import accepted_copies
from reinforge.errors import NotFound

_ROOM = Path(__file__).resolve().parents[1]
_CHECKOUT = (_ROOM.parent / "pyproject.toml").is_file()
# `make build` writes the first; a wheel carries it as the second.
STATIC = _ROOM.parent / "frontend" / "dist" if _CHECKOUT else _ROOM / "static"
_ROUTES = frozenset(
    {
        "",
        "adapters",
        "compare",
        "datasets",
        "deployments",
        "evaluations",
        "jobs",
        "join",
        "models",
        "playground",
        "rewards",
    }
    | {"reset-password", "settings", "sign-in", "sweeps"}
)
"""First segments of the page's own paths; a test compares them with `frontend/src/routes`."""
_NEVER = frozenset({"api", "v1", "worker", "docs", "guide", "mail", "shared", "openapi.json"})
_PROBES = "Ask /healthz (the process is alive) or /readyz (requests can be served; `parts` says what is not)."
_HINTS = {
    "metrics": "Set REINFORGE_METRICS_TOKEN to serve Prometheus here. Metrics of a job: GET /api/v1/jobs/{id}/metrics.",
    "health": _PROBES,
    "healthcheck": _PROBES,
    "livez": _PROBES,
    "ready": _PROBES,
    "status": _PROBES,
    "api": "The native API is below /api/v1, OpenAI's below /v1; /docs lists both.",
    "v1": "OpenAI's API is below /v1, the native one below /api/v1; /docs lists both.",
}
_SECURITY = {
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        "frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}
_NOT_BUILT = (
    "<!doctype html><meta charset=utf-8><title>Reinforge</title><p>The page has not been built: "
    "run <code>make setup</code>. The API is at <code>/api/v1</code>."
)


Copies = tuple[tuple[str, str], ...]
"""Content encodings and file endings of compressed copies, in the order of preference."""


class PageFallback:
    def __init__(self, folder: Path = STATIC) -> None:
        self.folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise HTTPException(404)
        path, headers = scope["path"], Headers(scope=scope)
        first = path.lstrip("/").partition("/")[0].lower()
        if scope["method"] not in ("GET", "HEAD") or first in _NEVER or first in _HINTS:
            raise _nothing_at(path, first)
        copies = accepted_copies(headers.get("accept-encoding", ""))
        browser = "text/html" in headers.get("accept", "")
        await self.respond(path, first, copies=copies, browser=browser)(scope, receive, send)

    def respond(self, path: str, first: str, *, copies: Copies = (), browser: bool = False) -> Response:
        """The file at `path`; else `index.html`, with status 404 if the page has no such path. Raises NotFound
        for clients other than browsers at such a path, and for a missing file.
        """
        file = (self.folder / path.lstrip("/")).resolve()
        if file.is_relative_to(self.folder) and file.is_file() and file.name != "index.html":
            hashed = "/assets/" in path
            return _send(file, "public, max-age=31536000, immutable" if hashed else "no-cache", copies)
        routed = first in _ROUTES
        if Path(path).suffix or not (routed or browser):
            raise _nothing_at(path, first)
        index = self.folder / "index.html"
        if not index.is_file():
            return HTMLResponse(_NOT_BUILT, 503, {**_SECURITY, "cache-control": "no-cache"})
        return _send(index, "no-cache", copies, 200 if routed else 404)


def _nothing_at(path: str, first: str) -> NotFound:
    return NotFound(f"There is nothing at {path}.", code="unknown_path", hint=_HINTS.get(first))


def _send(file: Path, caching: str, copies: Copies, status: int = 200) -> Response:
    headers = {**_SECURITY, "cache-control": caching, "vary": "accept-encoding"}
    for encoding, ending in copies:
        copy = file.with_name(file.name + ending)
        if copy.is_file():
            media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            return FileResponse(copy, status, {**headers, "content-encoding": encoding}, media_type)
    return FileResponse(file, status, headers)
