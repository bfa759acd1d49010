"""Finds delimited passages in linear time; the pattern `<a>(.*?)</a>` is quadratic in unclosed openings."""

from collections.abc import Iterator
from typing import NamedTuple


class Passage(NamedTuple):
    """`text[start:end]` with its delimiters; `inner` is the text between them."""

    start: int
    end: int
    inner: str


def passages(text: str, opening: str, closing: str) -> Iterator[Passage]:
    """Yield passages from an opening to the next closing; `inner` may contain openings."""
    end = 0
    while (start := text.find(opening, end)) >= 0:
        close = text.find(closing, start + len(opening))
        if close < 0:
            return
        end = close + len(closing)
        yield Passage(start, end, text[start + len(opening) : close])
