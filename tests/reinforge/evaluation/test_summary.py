"""Estimates and gates, on numbers with published intervals."""

import math
import random

import pytest

from reinforge.errors import InvalidInput, StateConflict
from reinforge.evaluation.summary import (
    RowScores,
    estimate,
    gate,
    lower_bound,
    resampled,
    row_values,
    summarise,
)


def scores(*rows: list[float | None]) -> list[RowScores]:
    return [RowScores(row=number, rewards=row) for number, row in enumerate(rows)]


def test_a_row_s_value_is_the_mean_of_what_could_be_scored() -> None:
    row_scores = scores([1.0, 0.0, None], [None, None], [1.0, 1.0, 1.0])
    assert row_values(row_scores, "eval/reward", 0.5) == {0: 0.5, 2: 1.0}
    assert row_values(row_scores, "eval/pass_any", 0.5) == {0: 1.0, 2: 1.0}
    assert row_values(row_scores, "eval/pass_rate", 1.0) == {0: 0.0, 2: 0.0}  # above, not at
    with pytest.raises(InvalidInput, match="eval/best"):
        row_values(row_scores, "eval/best", 0.5)


def test_the_interval_is_that_of_the_mean() -> None:
    """For many rows the bootstrap's interval is the normal one: ± 1.96 σ/√n."""
    generator = random.Random(5)
    values = [generator.gauss(0.4, 0.2) for _ in range(400)]
    interval = estimate(values)
    half = 1.96 * 0.2 / math.sqrt(400)
    assert interval.high - interval.low == pytest.approx(2 * half, rel=0.12)
    assert interval.low < interval.value < interval.high
    assert estimate(values) == interval  # no dice left


def test_rows_are_drawn_not_completions() -> None:
    """Ten copies of a completion are one piece of evidence."""
    once = [RowScores(row=n, rewards=[float(n % 2)]) for n in range(60)]
    tenfold = [RowScores(row=n, rewards=[float(n % 2)] * 10) for n in range(60)]
    summaries = [
        summarise(row_scores, pass_above=0.5, truncated=0, tokens=60) for row_scores in (once, tenfold)
    ]
    assert summaries[0].metrics["eval/reward"] == summaries[1].metrics["eval/reward"]
    assert summaries[1].completions == 600


def test_one_sided_bounds() -> None:
    means = [n / 100 for n in range(100)]
    assert (lower_bound(means, 0.95), lower_bound(means, 0.5)) == (0.05, 0.5)
    assert resampled([0.25] * 30) == [0.25] * 2000


def test_a_gate_wants_confidence_not_luck() -> None:
    half = scores(*[[1.0, 0.0]] * 20, *[[1.0, 1.0]] * 20, *[[0.0, 0.0]] * 20)  # mean 0.5
    common = {"metric": "eval/reward", "pass_above": 0.5}
    assert gate(half, **common, least=0.5, confidence=0.5).met  # type: ignore[arg-type]
    assert not gate(half, **common, least=0.5, confidence=0.95).met  # type: ignore[arg-type]
    assert gate(half, **common, least=0.4, confidence=0.95).met  # type: ignore[arg-type]


def test_a_regression_is_compared_row_by_row() -> None:
    """Rows differ far more than the two models do: unpaired, nothing could be said."""
    old = scores(*[[float(n % 2)] for n in range(100)])
    new = scores(*[[n % 2 - 0.01] for n in range(100)])
    verdict = gate(
        new, metric="eval/reward", pass_above=0.5, confidence=0.95, baseline=old, max_regression=0.02
    )
    [_, condition] = verdict.conditions
    assert (condition.met, condition.value) == (True, pytest.approx(-0.01))
    worse = gate(
        new, metric="eval/reward", pass_above=0.5, confidence=0.95, baseline=old, max_regression=0.005
    )
    assert not worse.met
    apart = [RowScores(row=row.row + 1000, rewards=row.rewards) for row in old]
    with pytest.raises(StateConflict, match="no row in common"):
        gate(new, metric="eval/reward", pass_above=0.5, confidence=0.95, baseline=apart, max_regression=0.1)


def test_failures_cannot_hide_behind_a_good_mean() -> None:
    verdict = gate(
        scores(*[[1.0, None]] * 30), metric="eval/reward", pass_above=0.5, confidence=0.95, least=0.9
    )
    assert (verdict.met, [condition.name for condition in verdict.conditions if not condition.met]) == (
        False,
        ["max_errors"],
    )
    with pytest.raises(StateConflict, match="could be scored"):
        gate(scores([None]), metric="eval/reward", pass_above=0.5, confidence=0.95)


def test_few_rows_get_a_warning() -> None:
    assert gate(scores([1.0]), metric="eval/reward", pass_above=0.5, confidence=0.9, least=0.5).notes
