"""Micro-batches: within the budget, complete, little padding."""

from hypothesis import given
from hypothesis import strategies as st

from worker.policy.packing import plan


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_every_row_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = plan(lengths, budget)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(lengths[row] for row in batch) <= budget or len(batch) == 1
    longest = [lengths[batch[0]] for batch in batches]
    assert longest == sorted(longest, reverse=True)


def test_rows_of_similar_length_go_together() -> None:
    assert plan([10, 2, 10, 2, 2], 20) == [[0, 2], [1, 3, 4]]
