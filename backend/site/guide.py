"""`/guide`: the guide as HTML, without scripts and without requests to other servers."""

import functools
import hashlib
import mimetypes
from pathlib import Path

from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, Response

from backend.site.guide_page import PAGES, rendered, source
from backend.site.page import STATIC
from reinforge.errors import NotFound

router = APIRouter(prefix="/guide", include_in_schema=False)

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; font-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-cache",
}
_FILES = frozenset({".svg", ".webp", ".png", ".json", ".yml"})


@functools.lru_cache(maxsize=128)
def _page(file: Path, changed_ns: int) -> str:
    fonts = sorted((STATIC / "assets").glob("inter-latin-wght-normal-*.woff2"))
    return rendered(PAGES, file, font=f"/assets/{fonts[0].name}" if fonts else None)


@router.api_route("", methods=["GET", "HEAD"])
@router.api_route("/{path:path}", methods=["GET", "HEAD"])
async def guide(request: Request, path: str = "") -> Response:
    """A page of the guide, or a file that its pages show. Raises NotFound."""
    path = path.strip("/")
    if (file := source(PAGES, path.removesuffix(".md"))) is not None:
        html = await to_thread.run_sync(_page, file, file.stat().st_mtime_ns)
        headers = {**HEADERS, "etag": f'"{hashlib.sha256(html.encode()).hexdigest()[:32]}"'}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return HTMLResponse(html, headers=headers)
    file = (PAGES / path).resolve()
    if file.suffix in _FILES and file.is_relative_to(PAGES.resolve()) and file.is_file():
        media_type = (
            "text/plain" if file.suffix == ".yml" else mimetypes.guess_type(file.name)[0] or "image/webp"
        )
        return FileResponse(file, headers=HEADERS, media_type=media_type)
    raise NotFound(f"The guide has no page {path}.", code="unknown_path", hint="/guide lists all pages.")
