"""Responses that stream stored objects."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import BinaryIO
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import iterate_in_threadpool

from backend.data.objects import Objects
from backend.http.conditional import unchanged

_CHUNK = 1 << 18


def attachment(filename: str) -> dict[str, str]:
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", filename) or "download"
    value = f'attachment; filename="{plain}"'
    if plain != filename:
        value += f"; filename*=UTF-8''{quote(filename, safe='')}"
    return {"content-disposition": value, "x-content-type-options": "nosniff"}


def chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def stream_object(
    request: Request,
    objects: Objects,
    sha256: str,
    *,
    etag: str,
    media_type: str,
    headers: dict[str, str],
    transform: Callable[[BinaryIO], Iterator[bytes]] = chunks,
    caching: str = "private, max-age=31536000, immutable",
) -> Response:
    """Stream the object through `transform`, or answer 304 if the client has it."""
    tags = {"etag": f'"{etag}"', "cache-control": caching}
    if (not_modified := unchanged(request, tags)) is not None:
        return not_modified

    async def body() -> AsyncIterator[bytes]:
        async with objects.open(sha256) as file:
            async for chunk in iterate_in_threadpool(transform(file)):
                yield chunk

    return StreamingResponse(body(), media_type=media_type, headers=headers | tags)
