"""Converts positions in a text to positions in its tokens."""

from collections.abc import Callable, Sequence

Raw = Callable[[Sequence[Sequence[int]]], list[str]]
"""Decodes token ids, keeping special tokens."""


def token_counts(raw: Raw, rows: Sequence[Sequence[int]], ends: Sequence[int]) -> list[int]:
    """Smallest number of leading tokens of each row i whose text has at least `ends[i]` characters."""
    low, high = [0] * len(rows), [len(ids) for ids in rows]
    while any(a < b for a, b in zip(low, high, strict=True)):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        texts = raw([ids[:count] for ids, count in zip(rows, middle, strict=True)])
        for place, text in enumerate(texts):
            if low[place] == high[place]:
                continue
            if len(text) >= ends[place]:
                high[place] = middle[place]
            else:
                low[place] = middle[place] + 1
    return low
