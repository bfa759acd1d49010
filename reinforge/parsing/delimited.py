"""Finds delimited passages in linear time; `<a>(.*?)</a>` is quadratic on openings without a close."""

from collections.abc import Iterator
from typing import NamedTuple


class Passage(NamedTuple):
    """`text[start:end]` with delimiters, `inner` without."""

    start: int
    end: int
    inner: str


def passages(text: str, opening: str, closing: str) -> Iterator[Passage]:
    """Passages from every opening to the next close, with any openings between."""
    end = 0
    while (start := text.find(opening, end)) >= 0:
        close = text.find(closing, start + len(opening))
        if close < 0:
            return
        end = close + len(closing)
        yield Passage(start, end, text[start + len(opening) : close])
