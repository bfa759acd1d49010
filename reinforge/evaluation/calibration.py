"""Calibration: agreement of a reward or judge with human labels."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

ENOUGH = 30
"""Number of labels from which on the standard error of the agreement is below 0.1."""


@dataclass(frozen=True, slots=True)
class Judged:
    right: bool
    value: float | None
    """Reward; None if it failed or does not apply."""
    wall_ms: float = 0.0
    cost: float | None = None


class CalibrationReport(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    labels: int
    compared: int
    """Number of labels with a reward; all below but `milliseconds` and `cost_per_1000` is about them."""
    agreement: float | None
    """Share of labels on which person and reward agree."""
    interval: tuple[float, float] | None
    """Wilson's 95 % interval of the agreement."""
    kappa: float | None
    """Cohen's κ: agreement beyond chance; None if chance alone would give full agreement."""
    right_passed: int
    right_failed: int
    """Number of completions labelled right, but not rewarded."""
    wrong_passed: int
    """Number of completions labelled wrong, but rewarded, which training will exploit."""
    wrong_failed: int
    right_share: float | None
    passed_share: float | None
    milliseconds: float | None
    cost_per_1000: float | None
    enough: bool


def calibrate(judged: Sequence[Judged], *, pass_above: float) -> CalibrationReport:
    both = [(label.right, label.value > pass_above) for label in judged if label.value is not None]
    counts = {
        (right, passed): both.count((right, passed)) for right in (True, False) for passed in (True, False)
    }
    agree = counts[True, True] + counts[False, False]
    costs = [label.cost for label in judged if label.cost is not None]
    return CalibrationReport(
        labels=len(judged),
        compared=len(both),
        agreement=agree / len(both) if both else None,
        interval=wilson(agree, len(both)) if both else None,
        kappa=_kappa(both),
        right_passed=counts[True, True],
        right_failed=counts[True, False],
        wrong_passed=counts[False, True],
        wrong_failed=counts[False, False],
        right_share=sum(right for right, _ in both) / len(both) if both else None,
        passed_share=sum(passed for _, passed in both) / len(both) if both else None,
        milliseconds=statistics.fmean(score.wall_ms for score in judged) if judged else None,
        cost_per_1000=1000 * statistics.fmean(costs) if costs else None,
        enough=len(both) >= ENOUGH,
    )


def paid(usage: Mapping[str, Mapping[str, float]]) -> float | None:
    """Cost of judges; None without calls or prices. Without cached answers: they do not predict the next price."""
    return sum(counts.get("cost", 0.0) for counts in usage.values() if counts.get("calls")) or None


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """95 % score interval (Wilson 1927)."""
    z = 1.959963984540054
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * ((share * (1 - share) + z * z / (4 * trials)) / trials) ** 0.5 / (1 + z * z / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


def _kappa(both: Sequence[tuple[bool, bool]]) -> float | None:
    if not both:
        return None
    n = len(both)
    agreement = sum(right == passed for right, passed in both) / n
    right, passed = sum(r for r, _ in both) / n, sum(p for _, p in both) / n
    chance = right * passed + (1 - right) * (1 - passed)
    return (agreement - chance) / (1 - chance) if chance < 1 else None
