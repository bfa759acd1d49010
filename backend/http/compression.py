"""Compression: gzip of large JSON responses, and which compressed copies of files a client accepts."""

import asyncio
import gzip
import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.http.conditional import PACKED

LEAST_BYTES = 4096
_LEVEL = 1
_THREAD_BYTES = 128 * 1024
_GZIP = re.compile(r"(?:^|,)\s*(?:gzip|\*)\s*(?!;\s*q=0(?:\.0*)?\s*(?:,|$))(?:;|,|$)", re.IGNORECASE)
_BROTLI = re.compile(r"(?:^|,)\s*br\s*(?!;\s*q=0(?:\.0*)?\s*(?:,|$))(?:;|,|$)", re.IGNORECASE)


def accepts_gzip(accept_encoding: str) -> bool:
    return _GZIP.search(accept_encoding) is not None


def accepted_copies(accept_encoding: str) -> tuple[tuple[str, str], ...]:
    """Encodings and file endings of accepted compressed copies, smallest first."""
    brotli = (("br", ".br"),) if _BROTLI.search(accept_encoding) else ()
    return (*brotli, ("gzip", ".gz")) if accepts_gzip(accept_encoding) else brotli


class CompressJson:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepted = dict(scope.get("headers", ())).get(b"accept-encoding", b"").decode("latin-1")
        if scope["type"] != "http" or not accepts_gzip(accepted):
            await self.app(scope, receive, send)
            return
        start: Message | None = None

        async def packing(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_json(message):
                start = message
                return
            if start is not None:
                waiting, start = start, None
                if not message.get("more_body") and len(message.get("body", b"")) >= LEAST_BYTES:
                    message = {**message, "body": await _pack(message["body"])}
                    _mark(waiting, len(message["body"]))
                await send(waiting)
            await send(message)

        await self.app(scope, receive, packing)


def _is_json(start: Message) -> bool:
    headers = MutableHeaders(raw=list(start["headers"]))
    return "content-encoding" not in headers and headers.get("content-type", "").startswith(
        "application/json"
    )


async def _pack(body: bytes) -> bytes:
    if len(body) < _THREAD_BYTES:
        return gzip.compress(body, _LEVEL, mtime=0)
    return await asyncio.to_thread(gzip.compress, body, _LEVEL, mtime=0)


def _mark(start: Message, size: int) -> None:
    start["headers"] = list(start["headers"])
    headers = MutableHeaders(raw=start["headers"])
    headers["content-encoding"] = "gzip"
    headers["content-length"] = str(size)
    headers.add_vary_header("accept-encoding")
    tag = headers.get("etag", "")
    if tag.startswith('"'):
        headers["etag"] = f'{tag[:-1]}{PACKED}"'
