"""Rows are divided by tokens, and rows of a prompt stay together."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from worker.policy.base import Batch, Sequences
from worker.policy.ranks.shares import GRADIENT_COST, batch_costs, part_of, row_shares

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 60)), max_size=40)


def sequences(rows: list[tuple[int, int]]) -> Sequences:
    return Sequences(
        [[prompt] * (prompt + 1) for prompt, _ in rows], [[1] * length for _, length in rows], 1.0
    )


@given(rows=ROWS, ranks=st.integers(1, 5))
def test_each_row_is_computed_once_and_shares_are_even(rows: list[tuple[int, int]], ranks: int) -> None:
    shares = row_shares(sequences(rows), ranks, layout="padded")
    assert len(shares) == ranks and all(share == sorted(share) for share in shares)
    assert sorted(row for share in shares for row in share) == list(range(len(rows)))
    costs = [sum(rows[row][0] + 1 + rows[row][1] for row in share) for share in shares]
    longest = max((prompt + 1 + length for prompt, length in rows), default=0)
    assert all(abs(cost - sum(costs) / ranks) <= longest for cost in costs)
    split_prompts = sum(len({rows[row][0] for row in share}) for share in shares) - len({p for p, _ in rows})
    assert split_prompts <= ranks - 1


def test_rows_without_gradient_are_cheaper_and_skipped_ones_free() -> None:
    batch = Batch(
        sequences([(0, 9)] * 8),
        {"rewards": torch.arange(8.0), "mask": torch.ones(8, 9)},
        torch.tensor([True] * 4 + [False] * 4),
        8.0,
        skipped=torch.tensor([False] * 6 + [True] * 2),
    )
    costs = batch_costs(batch)
    assert costs == [GRADIENT_COST] * 4 + [1.0] * 2 + [0.0] * 2
    shares = row_shares(batch.sequences, 2, layout="padded", costs=costs)
    assert shares == [[0, 1], [2, 3, 4, 5, 6, 7]]
    part = part_of(batch, shares[1])
    assert part.tensors["rewards"].tolist() == [2, 3, 4, 5, 6, 7] and part.denominator == batch.denominator
    assert part.needs_gradient.tolist() == [True] * 2 + [False] * 4


def test_with_prompts_computed_once_a_row_costs_its_part_of_the_prompt() -> None:
    rows = Sequences([[1] * 100] * 4 + [[2] * 4], [[1] * 5] * 4 + [[1] * 130], 1.0)
    assert row_shares(rows, 2, layout="prompt_once") == [[0, 1, 2, 3], [4]]
    assert row_shares(rows, 2, layout="padded") == [[0, 1, 2], [3, 4]]
