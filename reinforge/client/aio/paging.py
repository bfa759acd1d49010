"""Iteration over all pages of a list."""

from collections.abc import AsyncIterator
from typing import Any

from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.shared import M


async def every(transport: AsyncTransport, path: str, model: type[M], **params: Any) -> list[M]:
    items = []
    async for item in iterate(transport, path, model, **params):
        items.append(item)
    return items


async def iterate(
    transport: AsyncTransport, path: str, model: type[M], /, *, page_size: int = 100, **params: Any
) -> AsyncIterator[M]:
    after: str | None = None
    while True:
        page = await transport.get(path, limit=page_size, after=after, **params)
        for item in page["data"]:
            yield model.model_validate(item)
        after = page.get("next_cursor")
        if not page.get("has_more") or not after:
            return
