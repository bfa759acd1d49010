"""Importance of settings: shares worked out by hand."""

import random

import pytest

from backend.sweeps.importance import explained, importance
from reinforge.schemas.sweeps import SweepTrial


def trials(*rows: tuple[dict[str, object], float | None]) -> list[SweepTrial]:
    return [
        SweepTrial(
            number=number, setting=number, name="", parameters=parameters, seed=None, job=None,
            status="succeeded", ended_by=None, error=None, objective=reward, objective_step=1, evaluations=1,
            step=1, steps=1, seconds=0.0, cost=None, adapter=None,
        )
        for number, (parameters, reward) in enumerate(rows)
    ]  # fmt: skip


def test_the_share_is_adjusted_for_the_number_of_values() -> None:
    # Within: 4 × 0.25 over 4 - 2; total: 2 × 1.5² + 2 × 0.5² = 5 over 3. 1 - 0.5 / (5/3) = 0.7.
    assert explained(["a", "a", "b", "b"], [0.0, 1.0, 2.0, 3.0]) == pytest.approx(0.7)
    assert explained(["a", "b", "a", "b"], [0.0, 0.0, 1.0, 1.0]) == 0.0, "no effect"
    assert explained(["a", "b", "c"], [1.0, 2.0, 3.0]) is None, "one job per value"
    assert explained(["a", "a", "a"], [1.0, 2.0, 3.0]) is None, "one value"


def test_what_decides_the_reward_comes_first() -> None:
    rows = [
        ({"rank": rank, "preset": preset}, rank + 0.1 * n)
        for rank in (1, 2)
        for n, preset in enumerate("xyz")
    ]
    result, note = importance(["preset", "rank"], trials(*rows))
    assert result is not None and note is None
    assert list(result.shares) == ["rank", "preset"]
    assert result.shares["rank"] > 0.9 and result.shares["preset"] == 0.0


def test_many_numbers_are_compared_in_thirds() -> None:
    draw = random.Random(0)
    rows = [({"rate": n / 30, "noise": draw.random()}, float(n >= 20)) for n in range(30)]
    result, _ = importance(["noise", "rate"], trials(*rows))
    assert result is not None
    assert result.shares["rate"] == pytest.approx(1.0) and result.shares["noise"] < 0.2


def test_too_few_or_equal_results_have_none_and_a_reason() -> None:
    few = trials(*[({"rank": n}, float(n)) for n in range(5)], ({"rank": 9}, None))
    assert importance(["rank"], few) == (None, "This needs 6 jobs with a held-out reward; there are 5.")
    equal = trials(*[({"rank": n % 2}, 0.5) for n in range(6)])
    assert importance(["rank"], equal) == (None, "All jobs have the same held-out reward.")
    single = trials(*[({"rank": f"r{n}"}, float(n)) for n in range(6)])
    result, note = importance(["rank"], single)
    assert result is None and note is not None and "one job only" in note
