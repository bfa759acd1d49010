"""Divides rows among ranks, keeping the rows of a prompt together where possible."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from worker.policy.base import Batch, Sequences
from worker.policy.forward.micro_batches import Layout
from worker.policy.forward.rows import groups

GRADIENT_COST = 3.0
"""Cost of a token with a backward pass, relative to one with a forward pass only."""


def row_shares(
    sequences: Sequences, ranks: int, *, layout: Layout, costs: Sequence[float] | None = None
) -> list[list[int]]:
    """Rows of each rank, ascending: the rows, ordered by prompt, cut into consecutive parts of about equal
    cost.

    costs: cost of a token in each row; default 1.
    """
    order: list[int] = []
    totals: list[float] = []
    for prompt, rows in groups(sequences, range(len(sequences))):
        prompt_tokens = len(prompt) if layout == "padded" else len(prompt) / len(rows)
        for row in rows:
            tokens = prompt_tokens + len(sequences.completions[row])
            order.append(row)
            totals.append(tokens * (1.0 if costs is None else costs[row]))
    whole = sum(totals)
    shares: list[list[int]] = [[] for _ in range(ranks)]
    for row, total, end in zip(order, totals, accumulate(totals), strict=True):
        middle = end - total / 2
        shares[min(ranks - 1, int(ranks * middle / whole)) if whole > 0 else 0].append(row)
    return [sorted(share) for share in shares]


def batch_costs(batch: Batch) -> list[float]:
    costs = [GRADIENT_COST if needed else 1.0 for needed in batch.needs_gradient.tolist()]
    if batch.skipped is None:
        return costs
    return [0.0 if skipped else cost for cost, skipped in zip(costs, batch.skipped.tolist(), strict=True)]


def part_of(batch: Batch, rows: list[int]) -> Batch:
    """The batch of some rows, with the denominator of the whole batch."""
    sequences = batch.sequences.take(rows)
    width = sequences.longest
    return replace(
        batch,
        sequences=sequences,
        tensors={key: t[rows] if t.dim() == 1 else t[rows, :width] for key, t in batch.tensors.items()},
        needs_gradient=batch.needs_gradient[rows],
        skipped=None if batch.skipped is None else batch.skipped[rows],
    )
