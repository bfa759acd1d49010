"""Comparison of jobs without a server: settings, pairs, verdicts."""

from statistics import fmean

import pytest

from reinforge.comparison.held_out import Difference, Interval, difference, interval
from reinforge.comparison.settings import differences
from reinforge.comparison.verdict import sentence


def test_settings_that_differ_are_listed_by_path() -> None:
    first = {"name": "a", "optimizer": {"learning_rate": 1e-4, "betas": [0.9, 0.95]}, "seed": 1}
    second = {
        "name": "b",
        "optimizer": {"learning_rate": 2e-4, "betas": [0.9, 0.95]},
        "seed": 1,
        "early_stop": {},
    }
    assert differences([first, second]) == {
        "optimizer.learning_rate": [1e-4, 2e-4],
        "early_stop": [None, {}],
    }


def test_rewards_are_compared_by_their_name() -> None:
    first = {"rewards": [{"name": "right", "weight": 1.0}, {"name": "short", "weight": 0.1}]}
    second = {"rewards": [{"name": "short", "weight": 0.2}, {"name": "right", "weight": 1.0}]}
    assert differences([first, second]) == {"rewards.short.weight": [0.1, 0.2]}


def test_an_absent_setting_is_like_a_null_one() -> None:
    assert differences([{"seed": None}, {}]) == {}
    assert differences([{"seed": None}, {"seed": 1}]) == {"seed": [None, 1]}


def test_pairs_take_the_difficulty_of_prompts_out_of_the_interval() -> None:
    baseline = {f"p{i}": float(i % 2) for i in range(40)}
    better = {prompt: value + 0.1 for prompt, value in baseline.items()}
    paired = difference(baseline, better)
    other_prompts = difference(baseline, {f"q{i}": value for i, value in enumerate(better.values())})
    assert paired is not None and other_prompts is not None
    assert (paired.paired, other_prompts.paired) == (True, False)
    assert paired.interval.value == pytest.approx(0.1) == other_prompts.interval.value
    assert paired.interval.low == pytest.approx(0.1)
    assert other_prompts.interval.low < 0 < other_prompts.interval.high


def test_a_few_shared_prompts_are_no_pairs() -> None:
    baseline = {f"p{i}": 0.5 for i in range(20)}
    other = {f"p{i}": 0.5 for i in range(16, 36)}
    compared = difference(baseline, other)
    assert compared is not None and not compared.paired


def test_the_interval_is_that_of_the_bootstrap() -> None:
    values = [1.0] * 30 + [0.0] * 70
    estimate = interval(values)
    assert estimate is not None
    assert estimate.value == pytest.approx(fmean(values))
    # Standard error of a share of 0.3 over 100 rows: 0.0458.
    assert estimate.low == pytest.approx(0.3 - 1.96 * 0.0458, abs=0.015)
    assert estimate.high == pytest.approx(0.3 + 1.96 * 0.0458, abs=0.015)
    assert interval([]) is None and difference({}, {"p": 1.0}) is None


@pytest.mark.parametrize(
    ("low", "value", "high", "words"),
    [
        (0.03, 0.08, 0.13, "B is better than A by 0.08 [0.03, 0.13] on 64 held-out prompts."),
        (-0.13, -0.08, -0.03, "B is worse than A by 0.08 [0.03, 0.13] on 64 held-out prompts."),
        (
            -0.01,
            0.02,
            0.05,
            "No difference between B and A is shown: +0.02 [-0.01, 0.05] on 64 held-out prompts.",
        ),
    ],
)
def test_the_verdict_claims_what_the_interval_shows(
    low: float, value: float, high: float, words: str
) -> None:
    assert sentence("B", "A", Difference(Interval(value, low, high, 64), paired=True)) == words


def test_the_verdict_names_other_prompts_and_longer_completions() -> None:
    change = Difference(Interval(0.08, 0.03, 0.13, 64), paired=False)
    assert sentence("B", "A", change, length=140.0, baseline_length=100.0) == (
        "B is better than A by 0.08 [0.03, 0.13] on different held-out prompts; its completions are 40% longer."
    )
    assert sentence("B", "A", None) == "B cannot be compared with A: one of them has no scored held-out rows."
