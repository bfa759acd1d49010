"""The split is a function of its arguments, and every row lands on one side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reinforge.dataset import DatasetError, split


@given(st.integers(1, 400), st.none() | st.floats(0, 0.99) | st.integers(0, 400), st.integers(0, 2**31 - 1))
def test_every_row_on_one_side(rows: int, held_out: int | float | None, seed: int) -> None:
    if isinstance(held_out, int) and held_out >= rows > 1:
        with pytest.raises(DatasetError):
            split(rows, held_out, seed)
        return
    train, held = split(rows, held_out, seed)
    assert sorted(train + held) == list(range(rows))
    assert train == sorted(train) and held == sorted(held)
    assert train
    assert split(rows, held_out, seed) == (train, held)


def test_pinned_so_that_no_version_of_python_changes_it() -> None:
    assert split(10, 3, 0)[1] == [5, 7, 8]
    assert split(10, 3, 1)[1] == [0, 1, 8]


@pytest.mark.parametrize(
    ("rows", "held_out", "expected"),
    [
        (1, None, 0),
        (1, 5, 0),
        (1, 0.5, 0),
        (2, None, 1),
        (100, None, 10),
        (7473, None, 256),
        (100, 0, 0),
        (100, 0.0, 0),
        (100, 0.25, 25),
        (3, 0.01, 1),
        (3, 0.99, 2),
        (100, 99, 99),
    ],
)
def test_how_many(rows: int, held_out: int | float | None, expected: int) -> None:
    assert len(split(rows, held_out, 0)[1]) == expected


@pytest.mark.parametrize(
    ("rows", "held_out"), [(10, 10), (10, 11), (10, -1), (10, 1.0), (10, -0.1), (10, float("nan"))]
)
def test_refused(rows: int, held_out: int | float) -> None:
    with pytest.raises(DatasetError) as caught:
        split(rows, held_out, 0)
    assert (caught.value.code, caught.value.param) == ("invalid_held_out", "data.held_out_rows")


def test_every_row_is_held_out_about_equally_often() -> None:
    counts = [0] * 20
    for seed in range(2000):
        for index in split(20, 5, seed)[1]:
            counts[index] += 1
    # Binomial(2000, 1/4): five standard deviations are 97.
    assert all(abs(count - 500) < 97 for count in counts)
