"""The web page: its built files, with `index.html` for every address that the page routes.

The build puts a gzipped copy beside each text file; browsers that accept gzip get that one.
"""

import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from backend.compression import accepts_gzip

_ROOM = Path(__file__).resolve().parent
_CHECKOUT = (_ROOM.parent / "pyproject.toml").is_file()
# `make build` writes the first; a wheel carries it as the second.
STATIC = _ROOM.parent / "frontend" / "dist" if _CHECKOUT else _ROOM / "static"
_API = ("/api/", "/worker/", "/v1/", "/docs", "/openapi.json")
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


class Page:
    """ASGI fallback for paths that no route knows."""

    def __init__(self, folder: Path = STATIC) -> None:
        self.folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] not in ("GET", "HEAD")
            or scope["path"].startswith(_API)
        ):
            raise HTTPException(404)
        packed = accepts_gzip(Headers(scope=scope).get("accept-encoding", ""))
        await self.respond(scope["path"], packed=packed)(scope, receive, send)

    def respond(self, path: str, *, packed: bool = False) -> Response:
        """The file at `path`; the page itself for addresses without a file ending. Raises HTTPException 404."""
        file = (self.folder / path.lstrip("/")).resolve()
        if file.is_relative_to(self.folder) and file.is_file() and file.name != "index.html":
            hashed = "/assets/" in path
            return _send(file, "public, max-age=31536000, immutable" if hashed else "no-cache", packed)
        if Path(path).suffix:
            raise HTTPException(404)
        index = self.folder / "index.html"
        if not index.is_file():
            return HTMLResponse(_NOT_BUILT, 503, {**_SECURITY, "cache-control": "no-cache"})
        return _send(index, "no-cache", packed)


def _send(file: Path, caching: str, packed: bool) -> Response:
    headers = {**_SECURITY, "cache-control": caching, "vary": "accept-encoding"}
    copy = file.with_name(f"{file.name}.gz")
    if not packed or not copy.is_file():
        return FileResponse(file, headers=headers)
    media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return FileResponse(copy, media_type=media_type, headers={**headers, "content-encoding": "gzip"})
