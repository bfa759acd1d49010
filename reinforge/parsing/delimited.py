"""Finds delimited passages in linear time. The pattern `<a>(.*?)</a>` takes quadratic time on unclosed openings."""

from collections.abc import Iterator
from typing import NamedTuple


class Passage(NamedTuple):
    """A passage: `text[start:end]` includes its delimiters, `inner` does not."""

    start: int
    end: int
    inner: str


def passages(text: str, opening: str, closing: str) -> Iterator[Passage]:
    """Yield passages from an opening to the next closing delimiter. `inner` may contain more openings."""
    end = 0
    while (start := text.find(opening, end)) >= 0:
        close = text.find(closing, start + len(opening))
        if close < 0:
            return
        end = close + len(closing)
        yield Passage(start, end, text[start + len(opening) : close])
