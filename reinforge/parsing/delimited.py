"""Finds passages between two marks in one pass.

A pattern such as `<a>(.*?)</a>` takes quadratic time on many openings without a close.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Passage(NamedTuple):
    """`text[start:end]` with both marks, `inner` without them."""

    start: int
    end: int
    inner: str


def passages(text: str, opening: str, closing: str) -> Iterator[Passage]:
    """From each opening to the next close; openings in between belong to the passage."""
    end = 0
    while (start := text.find(opening, end)) >= 0:
        close = text.find(closing, start + len(opening))
        if close < 0:
            return
        end = close + len(closing)
        yield Passage(start, end, text[start + len(opening) : close])
