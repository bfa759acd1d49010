"""`/docs`: the OpenAPI operations as HTML, without scripts, as it shares its origin with the session cookie."""

from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse

from backend.site.openapi import METHODS

router = APIRouter()
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "cache-control": "no-cache",
}
_STYLE = (
    ":root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}"
    "body{max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{font-size:.95em}summary{cursor:pointer;padding:.3rem 0}"
    "b{display:inline-block;width:4.5rem;font-family:monospace}section{margin:1.5rem 0}"
)


@router.get("/docs", include_in_schema=False)
async def reference(request: Request) -> HTMLResponse:
    app: FastAPI = request.app
    return HTMLResponse("".join(_page(app.openapi())), headers=HEADERS)


def _page(document: dict[str, Any]) -> Iterator[str]:
    title = escape(f"{document['info']['title']} {document['info']['version']}: the API")
    yield (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f'<h1>{title}</h1><p>The whole document with all schemas: <a href="/openapi.json">openapi.json</a>. '
        "Send <code>Authorization: Bearer rf-…</code> with each request.</p>"
    )
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        for method, spec in methods.items():
            if method in METHODS:
                by_tag.setdefault((spec.get("tags") or ["other"])[0], []).append((method, path, spec))
    for tag, operations in by_tag.items():
        yield f"<section><h2>{escape(tag)}</h2>"
        for method, path, spec in operations:
            yield from _operation(method, path, spec)
        yield "</section>"


def _operation(method: str, path: str, spec: dict[str, Any]) -> Iterator[str]:
    yield (
        f"<details><summary><b>{method.upper()}</b> <code>{escape(path)}</code> {escape(spec.get('summary', ''))}"
        f"</summary><p>{escape(spec.get('description', ''))}</p>"
    )
    parameters = [
        f"<li><code>{escape(parameter['name'])}</code> in the {escape(parameter['in'])}"
        f"{', required' if parameter.get('required') else ''}. {escape(parameter.get('description', ''))}"
        for parameter in spec.get("parameters", [])
    ]
    if parameters:
        yield f"<ul>{''.join(parameters)}</ul>"
    kinds = ", ".join(spec.get("requestBody", {}).get("content", {}))
    if kinds:
        yield f"<p>Body: <code>{escape(kinds)}</code></p>"
    yield f"<p>Answers: <code>{escape(', '.join(spec.get('responses', {})))}</code></p></details>"
