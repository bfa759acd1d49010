# Generated from reinforge/client/aio/paging.py by scripts/sync_client.py: change that file.
"""Iteration over all pages of a list."""

from collections.abc import Iterator
from typing import Any

from reinforge.client.shared import M
from reinforge.client.sync.transport import Transport


def every(transport: Transport, path: str, model: type[M], **params: Any) -> list[M]:
    items = []
    for item in iterate(transport, path, model, **params):
        items.append(item)
    return items


def iterate(
    transport: Transport, path: str, model: type[M], /, *, page_size: int = 100, **params: Any
) -> Iterator[M]:
    after: str | None = None
    while True:
        page = transport.get(path, limit=page_size, after=after, **params)
        for item in page["data"]:
            yield model.model_validate(item)
        after = page.get("next_cursor")
        if not page.get("has_more") or not after:
            return
