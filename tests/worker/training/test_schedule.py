"""Learning rates by step."""

import math

import pytest

from reinforge.spec import Optimizer
from worker.training.schedule import learning_rate


def rates(steps: int = 6, **settings: object) -> list[float]:
    optimizer = Optimizer.model_validate({"learning_rate": 0.6, **settings})
    return [learning_rate(optimizer, step, steps) for step in range(1, steps + 1)]


def test_constant() -> None:
    assert rates() == [0.6] * 6


def test_warm_up_reaches_the_rate_at_its_last_step() -> None:
    assert rates(warmup_steps=3) == pytest.approx([0.2, 0.4, 0.6, 0.6, 0.6, 0.6])


def test_linear_falls_to_zero_behind_the_last_step() -> None:
    assert rates(schedule="linear", warmup_steps=1) == pytest.approx([0.6, 0.6, 0.48, 0.36, 0.24, 0.12])


def test_cosine_starts_at_the_rate_and_never_rises() -> None:
    values = rates(schedule="cosine")
    assert values[0] == pytest.approx(0.6)
    assert values[3] == pytest.approx(0.3)
    assert values == sorted(values, reverse=True)


def test_an_initial_rate_falls_to_the_rate() -> None:
    falling = rates(40, initial_learning_rate=0.9)
    assert falling[0] == pytest.approx(0.9)
    assert falling[6] == pytest.approx(0.6 + 0.3 / math.e)
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] == pytest.approx(0.6, rel=1e-3)


def test_an_initial_rate_comes_after_the_warm_up_and_falls_with_the_schedule() -> None:
    warm = rates(8, initial_learning_rate=0.9, warmup_steps=2)
    assert warm[:3] == pytest.approx([0.45, 0.9, 0.9])
    linear = rates(40, initial_learning_rate=0.9, schedule="linear")
    assert (linear[0], linear[-1]) == pytest.approx((0.9, 0.015), rel=0.01)


def test_a_warm_up_longer_than_the_job_is_no_error() -> None:
    assert max(rates(steps=2, warmup_steps=4)) == pytest.approx(0.3)
