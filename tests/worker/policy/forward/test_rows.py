"""Rows as tensors: every target is predicted where its prompt and the tokens before it, and nothing else, are seen."""

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from worker.policy.base import Sequences
from worker.policy.forward.rows import Packed, packed, padded

CPU = torch.device("cpu")
ROWS = st.lists(
    st.tuples(st.integers(1, 3), st.lists(st.integers(10, 99), max_size=6)), min_size=1, max_size=8
)


def sequences_of(rows: list[tuple[int, list[int]]]) -> Sequences:
    """Prompt k is k tokens long; prompts of one length are one prompt."""
    return Sequences(
        [list(range(100 * kind, 100 * kind + kind)) for kind, _ in rows], [ids for _, ids in rows], 1.0
    )


def attended(line: Packed, query: int) -> list[int]:
    """Positions whose keys a query sees, by the numbers that a kernel is given."""
    spans = line.spans
    index = torch.arange(line.ids.shape[1]) if spans.index is None else spans.index
    starts, key_starts = spans.query_starts.tolist(), spans.key_starts.tolist()
    (segment,) = (i for i in range(len(spans.segments)) if starts[i] <= query < starts[i + 1])
    before_last = starts[segment + 1] - 1 - query
    positions: list[int] = index[key_starts[segment] : key_starts[segment + 1] - before_last].tolist()
    return positions


@given(ROWS)
@example([(2, [])])
@example([(1, [50]), (1, []), (1, [50, 60])])
def test_a_packed_target_sees_its_prompt_and_the_tokens_before_it(rows: list[tuple[int, list[int]]]) -> None:
    sequences = sequences_of(rows)
    line = packed(sequences, CPU)
    ids, targets = line.ids[0], line.targets
    assert targets.shape == (len(rows), sequences.longest)
    assert len(line.picked) == sum(len(ids) for _, ids in rows)
    for place, token, row, column in zip(
        line.picked.tolist(),
        targets.ids.tolist(),
        targets.line.tolist(),
        targets.column.tolist(),
        strict=True,
    ):
        assert token == sequences.completions[row][column]
        before = [*sequences.prompts[row], *sequences.completions[row][:column]]
        assert ids[attended(line, place)].tolist() == before
        assert line.position_ids[0, attended(line, place)].tolist() == list(range(len(before)))


@given(ROWS)
def test_a_prompt_stands_once_and_last_tokens_nowhere(rows: list[tuple[int, list[int]]]) -> None:
    line = packed(sequences_of(rows), CPU)
    prompts = sum({kind for kind, _ in rows})
    read = sum(max(0, len(ids) - 1) for _, ids in rows)
    assert line.ids.shape == line.position_ids.shape == (1, prompts + read)
    spans = line.spans
    assert spans.query_starts[-1] == prompts + read
    assert spans.most_keys == int(spans.key_starts.diff().max())
    assert spans.most_queries == int(spans.query_starts.diff().max())


def test_rows_that_share_nothing_need_no_copies_of_keys() -> None:
    assert packed(sequences_of([(1, [50, 60]), (2, [70, 80])]), CPU).spans.index is None
    assert packed(sequences_of([(1, [50, 60]), (1, [70, 80])]), CPU).spans.index is not None


@given(ROWS)
def test_values_go_to_the_same_places_padded_and_packed(rows: list[tuple[int, list[int]]]) -> None:
    sequences = sequences_of(rows)
    one, two = padded(sequences, CPU), packed(sequences, CPU)

    def tokens(ids: Tensor) -> Tensor:
        return ids.double()

    expected = torch.zeros(one.targets.shape, dtype=torch.float64)
    for row, (_, ids) in enumerate(rows):
        expected[row, : len(ids)] = torch.tensor(ids)
    assert torch.equal(one.targets.spread(tokens(one.targets.ids)), expected)
    assert torch.equal(two.targets.spread(tokens(two.targets.ids)), expected)
    before = one.ids[one.targets.line, one.position]
    assert torch.equal(before, two.ids[0, two.picked])
