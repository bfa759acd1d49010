"""Estimates of pass rates."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reinforge.preflight.passing import fit_rates, mixed_share, pass_at_k


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_one_minus_the_share_of_choices_without_a_pass(case: tuple[int, int, int]) -> None:
    n, right, k = case
    assert pass_at_k(n, right, k) == pytest.approx(1 - math.comb(n - right, k) / math.comb(n, k))


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.4, 2.0), (6.0, 3.0)])
def test_the_distribution_of_rates_is_recovered(a: float, b: float) -> None:
    chance = random.Random(0)
    rates = [chance.betavariate(a, b) for _ in range(4000)]
    counts = [(8, sum(chance.random() < rate for _ in range(8))) for rate in rates]
    fitted = fit_rates(counts)
    for size in (2, 8, 32):
        true = sum(1 - rate**size - (1 - rate) ** size for rate in rates) / len(rates)
        assert mixed_share(*fitted, size) == pytest.approx(true, abs=0.02)


def test_rows_that_are_all_alike_have_one_rate() -> None:
    chance = random.Random(1)
    counts = [(8, sum(chance.random() < 0.5 for _ in range(8))) for _ in range(500)]
    assert mixed_share(*fit_rates(counts), 4) == pytest.approx(1 - 2 * 0.5**4, abs=0.02)
