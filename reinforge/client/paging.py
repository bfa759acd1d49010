"""Auto-paging over cursor lists."""

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from reinforge.client.transport import Transport

M = TypeVar("M", bound=BaseModel)


def every(transport: Transport, path: str, model: type[M], **params: Any) -> list[M]:
    """Every item of a list, newest first, once all pages are there."""
    items = []
    for item in iterate(transport, path, model, **params):
        items.append(item)
    return items


def iterate(
    transport: Transport, path: str, model: type[M], *, page_size: int = 100, **params: Any
) -> Iterator[M]:
    """Every item of a list, newest first, fetching pages as needed."""
    after: str | None = None
    while True:
        page = transport.get(path, limit=page_size, after=after, **params)
        yield from (model.model_validate(item) for item in page["data"])
        after = page.get("next_cursor")
        if not page.get("has_more") or not after:
            return
