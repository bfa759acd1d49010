"""Micro-batches: within the budget, complete, little padding."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from worker.policy.base import Sequences
from worker.policy.forward.micro_batches import MicroBatch, lines, micro_batches, plan, spread
from worker.policy.forward.rows import packed


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


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 40)), max_size=24),
    st.integers(1, 400),
    st.booleans(),
)
@example([(1, 0), (1, 0)], 1, True)
def test_micro_batches_have_every_row_once_and_share_one_prompt_only(
    shapes: list[tuple[int, int]], budget: int, prompt_once: bool
) -> None:
    sequences = Sequences([[kind] * 100 * kind for kind, _ in shapes], [[7] * n for _, n in shapes], 1.0)
    parts = micro_batches(
        sequences, range(len(shapes)), budget, layout="prompt_once" if prompt_once else "padded"
    )
    assert sorted(row for part in parts for row in part.rows) == list(range(len(shapes)))
    for part in parts:
        prompts = {tuple(sequences.prompts[row]) for row in part.rows}
        longest = max(len(sequences.completions[row]) for row in part.rows)
        if part.layout == "prompt_once":
            assert prompt_once and len(prompts) == 1
            prompt = len(prompts.pop())
            # A prompt alone may be over the budget, and rows without a completion add nothing to it.
            assert prompt + len(part.rows) * longest <= max(budget, prompt + longest)


def test_a_long_prompt_is_run_once_where_that_spares_much() -> None:
    long, short, wordy = [1] * 64, [2] * 63, [3] * 64
    sequences = Sequences([long] * 2 + [short] * 2 + [wordy] * 2, [[7] * 32] * 4 + [[7] * 500] * 2, 1.0)
    assert micro_batches(sequences, range(6), 10_000, layout="prompt_once") == [
        MicroBatch([0, 1], "prompt_once"),
        MicroBatch([4, 5, 2, 3]),
    ]
    assert micro_batches(sequences, [0, 4], 10_000, layout="prompt_once") == [MicroBatch([4, 0])]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 40)), max_size=24), st.integers(1, 400))
def test_lines_have_every_row_once_within_the_budget(shapes: list[tuple[int, int]], budget: int) -> None:
    sequences = Sequences([[kind] * 20 * kind for kind, _ in shapes], [[7] * n for _, n in shapes], 1.0)
    parts = micro_batches(sequences, range(len(shapes)), budget, layout="packed")
    assert sorted(row for part in parts for row in part.rows) == list(range(len(shapes)))
    for part in parts:
        assert part.layout == "packed"
        tokens = packed(sequences.take(part.rows), torch.device("cpu")).ids.shape[1]
        assert tokens <= budget or len(part.rows) == 1


def test_groups_are_packed_together_with_the_longest_rows_first() -> None:
    sequences = Sequences([[1] * 10] * 3 + [[2] * 4] * 2, [[7] * 6] * 3 + [[7] * 31, [7]], 1.0)
    assert lines(sequences, range(5), 1000) == [[3, 4, 0, 1, 2]]
    # 34 tokens of the second prompt's rows, then 10 + 5 of the first prompt's: the third does not fit, nor its prompt.
    assert lines(sequences, range(5), 54) == [[3, 4, 0, 1], [2]]
    assert lines(sequences, [0, 1], 16) == [[0], [1]]


@pytest.mark.parametrize(
    ("lengths", "budget", "threads", "parts"),
    [
        ([400] * 10, 2048, 1, 2),
        ([400] * 10, 2048, 2, 2),
        ([400] * 11, 2048, 2, 4),  # three parts would leave a thread idle at the end
        ([400] * 4, 2048, 2, 2),  # a batch that fits one part
        ([60] * 3, 2048, 2, 1),  # too little to share
    ],
)
def test_threads_have_equal_work(lengths: list[int], budget: int, threads: int, parts: int) -> None:
    assigned = spread(lengths, budget, threads)
    assert sorted(row for part in assigned for row in part) == list(range(len(lengths)))
    assert len(assigned) == parts
    assert all(len(part) * max(lengths[row] for row in part) <= budget for part in assigned)
    assert max(map(len, assigned)) - min(map(len, assigned)) <= 2
