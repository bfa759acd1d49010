"""Micro-batches by token budget: rows of similar length together, so that little is padding."""

from collections.abc import Sequence


def plan(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Split rows into micro-batches of at most `budget` tokens, padding counted; longest first.

    The longest come first so that a batch too large for the memory fails at once. A row longer than the budget is
    a micro-batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    batches: list[list[int]] = []
    for row in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= budget:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches
