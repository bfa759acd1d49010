"""Summary of an evaluation: means with bootstrap intervals, and gates."""

import random
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reinforge.errors import InvalidInput, StateConflict

RESAMPLES = 2000
FEW_ROWS = 20
"""Rows below which bootstrap intervals are too narrow."""

Metric = Literal["eval/reward", "eval/pass_rate", "eval/pass_any"]
METRICS: dict[str, str] = {
    "eval/reward": "mean reward",
    "eval/pass_rate": "share of completions above `pass_above`",
    "eval/pass_any": "share of rows with at least one completion above `pass_above`",
}


class _Report(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class RowScores(_Report):
    """Rewards of a row's completions, in the order of sampling; null for failures."""

    row: int
    rewards: list[float | None]


class Estimate(_Report):
    value: float
    low: float
    high: float
    """Upper bound of the middle 95 % of bootstrap resamples."""


class EvaluationSummary(_Report):
    rows: int
    """Rows with a scored completion; the estimates are about them."""
    completions: int
    error_share: float
    truncated_share: float
    """Share of completions cut off at the token limit."""
    tokens_mean: float
    metrics: dict[str, Estimate]


class Condition(_Report):
    name: str
    """`min`, `max_regression`, `min_improvement`, `max_errors`, or a condition on a report card."""
    met: bool
    value: float | None
    """Measured value; None if the report card does not have it."""
    bound: float | None
    """Lower bound of the value with the gate's confidence (for `max_errors` and report cards the value)."""
    required: float
    message: str


class GateReport(_Report):
    metric: str
    confidence: float
    rows: int
    baseline: str | None = None
    baseline_rows: int | None = None
    met: bool
    conditions: list[Condition]
    notes: list[str] = Field(default_factory=list)


def row_values(scores: Sequence[RowScores], metric: str, pass_above: float) -> dict[int, float]:
    reduce = _reducer(metric, pass_above)
    values = {
        row_scores.row: [value for value in row_scores.rewards if value is not None] for row_scores in scores
    }
    return {row: reduce(scored) for row, scored in values.items() if scored}


def _reducer(metric: str, pass_above: float) -> Callable[[list[float]], float]:
    match metric:
        case "eval/reward":
            return fmean
        case "eval/pass_rate":
            return lambda rewards: fmean(value > pass_above for value in rewards)
        case "eval/pass_any":
            return lambda rewards: float(any(value > pass_above for value in rewards))
    raise InvalidInput(
        f"There is no metric {metric!r}.",
        code="unknown_metric",
        param="metric",
        hint=f"Metrics: {', '.join(METRICS)}.",
    )


def resampled(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0) -> list[float]:
    generator = random.Random(seed)
    count = len(values)
    return sorted(fmean(generator.choices(values, k=count)) for _ in range(resamples))


def lower_bound(means: Sequence[float], confidence: float) -> float:
    return means[min(len(means) - 1, int(len(means) * (1 - confidence)))]


def estimate(values: Sequence[float]) -> Estimate:
    means = resampled(values)
    return Estimate(value=fmean(values), low=lower_bound(means, 0.975), high=lower_bound(means, 0.025))


def summarise(
    scores: Sequence[RowScores], *, pass_above: float, truncated: int, tokens: int
) -> EvaluationSummary:
    completions = sum(len(row.rewards) for row in scores)
    errors = sum(value is None for row in scores for value in row.rewards)
    values = {metric: list(row_values(scores, metric, pass_above).values()) for metric in METRICS}
    most = max(1, completions)
    return EvaluationSummary(
        rows=len(values["eval/reward"]),
        completions=completions,
        error_share=errors / most,
        truncated_share=truncated / most,
        tokens_mean=tokens / most,
        metrics={metric: estimate(by_row) for metric, by_row in values.items() if by_row},
    )


def gate(
    scores: Sequence[RowScores],
    *,
    metric: str,
    pass_above: float,
    confidence: float,
    least: float | None = None,
    baseline: Sequence[RowScores] | None = None,
    max_regression: float | None = None,
    min_improvement: float | None = None,
    max_errors: float = 0.05,
) -> GateReport:
    """Check with confidence that the metric is at least `least`, and at most `max_regression` below and at
    least `min_improvement` above the baseline's.
    """
    values = row_values(scores, metric, pass_above)
    if not values:
        raise StateConflict("No completion of the evaluation could be scored.", code="nothing_scored")
    rewards = [value for row_scores in scores for value in row_scores.rewards]
    conditions = [_errors(rewards.count(None) / len(rewards), max_errors)]
    if least is not None:
        conditions.append(_least(metric, list(values.values()), least, confidence))
    if baseline is not None:
        old = row_values(baseline, metric, pass_above)
        if max_regression is not None:
            conditions.append(_change("max_regression", metric, values, old, -max_regression, confidence))
        if min_improvement is not None:
            conditions.append(_change("min_improvement", metric, values, old, min_improvement, confidence))
    return GateReport(
        metric=metric,
        confidence=confidence,
        rows=len(values),
        baseline_rows=None if baseline is None else len(baseline),
        met=all(condition.met for condition in conditions),
        conditions=conditions,
        notes=_notes(len(values)),
    )


def _errors(share: float, most: float) -> Condition:
    message = f"{share:.1%} of the completions could not be scored; at most {most:.1%} may fail"
    return Condition(
        name="max_errors", met=share <= most, value=share, bound=share, required=most, message=message
    )


def _least(metric: str, values: list[float], least: float, confidence: float) -> Condition:
    value, bound = fmean(values), lower_bound(resampled(values), confidence)
    message = (
        f"{metric} is {value:.4f}, at least {bound:.4f} with {confidence:.0%} confidence; "
        f"{least:g} is required"
    )
    return Condition(
        name="min", met=bound >= least, value=value, bound=bound, required=least, message=message
    )


def _change(
    name: str, metric: str, new: dict[int, float], old: dict[int, float], least: float, confidence: float
) -> Condition:
    common = sorted(new.keys() & old.keys())
    if not common:
        raise StateConflict(
            "The baseline has no row in common with the evaluation.",
            code="baseline_not_comparable",
            hint="Evaluate both on the same dataset with the same split, seed and number of rows.",
        )
    differences = [new[row] - old[row] for row in common]
    value, bound = fmean(differences), lower_bound(resampled(differences), confidence)
    message = (
        f"{metric} changed by {value:+.4f} on {len(common)} common rows, by {bound:+.4f} at worst with "
        f"{confidence:.0%} confidence; "
        + (
            f"at least {least:+g} is required"
            if name == "min_improvement"
            else f"{least or 0.0:+g} is allowed"
        )
    )
    return Condition(name=name, met=bound >= least, value=value, bound=bound, required=least, message=message)


def _notes(rows: int) -> list[str]:
    if rows >= FEW_ROWS:
        return []
    return [f"Only {rows} rows were scored: bootstrap intervals are too narrow below {FEW_ROWS} rows."]
