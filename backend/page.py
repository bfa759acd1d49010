"""The web page: its built files, with `index.html` for every address that the page routes."""

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send

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
        await self.respond(scope["path"])(scope, receive, send)

    def respond(self, path: str) -> Response:
        """The file at `path`; the page itself for addresses without a file ending. Raises HTTPException 404."""
        file = (self.folder / path.lstrip("/")).resolve()
        if file.is_relative_to(self.folder) and file.is_file() and file.name != "index.html":
            hashed = "/assets/" in path
            caching = "public, max-age=31536000, immutable" if hashed else "no-cache"
            return FileResponse(file, headers={**_SECURITY, "cache-control": caching})
        if Path(path).suffix:
            raise HTTPException(404)
        index = self.folder / "index.html"
        headers = {**_SECURITY, "cache-control": "no-cache"}
        return (
            FileResponse(index, headers=headers)
            if index.is_file()
            else HTMLResponse(_NOT_BUILT, 503, headers)
        )
