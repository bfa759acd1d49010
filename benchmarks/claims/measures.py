"""From a finished run to a number: metrics early, late or over all steps, steps to a level, parts of completions."""

from collections.abc import Sequence
from typing import Any

from common.folder import Folder, Split
from common.runs import Result

from claims.ledger import Measure

EDGE = 5
"""Training steps that "first" and "last" mean."""
REWARD = "held_out/reward_mean"
NEVER = 1.25
"""Steps to a level that was not reached: this many times the steps there were."""


def last(name: str, title: str, steps: int = EDGE) -> Measure:
    """A training metric, the mean of the last steps."""
    return Measure(title, lambda result: _mean(_values(result, name)[-steps:]))


def first(name: str, title: str, steps: int = EDGE) -> Measure:
    return Measure(title, lambda result: _mean(_values(result, name)[:steps]))


def growth(name: str, title: str, steps: int = EDGE, *, start: int | None = None) -> Measure:
    """The last steps less the first, or less the first `start`."""

    def of(result: Result) -> float:
        values = _values(result, name)
        return _mean(values[-steps:]) - _mean(values[: start or steps])

    return Measure(title, of)


def over(name: str, title: str, *, begin: int = 1, end: int = 20, otherwise: float | None = None) -> Measure:
    """The mean over these training steps, both included; `otherwise` for a run that has no such metric."""

    def of(result: Result) -> float:
        values = [value for step, value in result.train.points(name) if begin <= step <= end]
        return otherwise if otherwise is not None and not values else _mean(values)

    return Measure(title, of)


def held_out_at(step: int, title: str, name: str = REWARD) -> Measure:
    """The evaluation after a step."""
    return Measure(title, lambda result: dict(result.held_out.points(name))[step])


def ratio(name: str, title: str, steps: int = EDGE) -> Measure:
    """The last steps over the first."""

    def of(result: Result) -> float:
        values = _values(result, name)
        return _mean(values[-steps:]) / _mean(values[:steps])

    return Measure(title, of)


def held_out(title: str, name: str = REWARD, evaluations: int = 1) -> Measure:
    """The mean of the last evaluations."""
    return Measure(
        title, lambda result: _mean([value for _, value in result.held_out.points(name)][-evaluations:])
    )


def held_out_first(title: str, name: str = REWARD) -> Measure:
    """Of the base model."""
    return Measure(title, lambda result: result.held_out.points(name)[0][1])


def held_out_gain(title: str, name: str = REWARD) -> Measure:
    """The last evaluation less the base model's."""

    def of(result: Result) -> float:
        values = [value for _, value in result.held_out.points(name)]
        return values[-1] - values[0]

    return Measure(title, of)


def reached(
    title: str, level: float, name: str = REWARD, split: Split = "held_out", *, smooth: int = 1
) -> Measure:
    """Steps until a metric first is at `level`, between two values by a straight line; `NEVER` × the steps if never.

    `smooth` values are averaged first, each with those before it.
    """

    def of(result: Result) -> float:
        series = result.held_out if split == "held_out" else result.train
        points = series.points(name)
        values = [
            _mean([v for _, v in points[max(0, at - smooth + 1) : at + 1]]) for at in range(len(points))
        ]
        return crossing([step for step, _ in points], values, level)

    return Measure(title, of)


def crossing(steps: Sequence[int], values: Sequence[float], level: float) -> float:
    for at, value in enumerate(values):
        if value >= level:
            if at == 0:
                return float(steps[0])
            share = (level - values[at - 1]) / (value - values[at - 1])
            return steps[at - 1] + share * (steps[at] - steps[at - 1])
    return NEVER * steps[-1]


def taken(name: str, title: str) -> Measure:
    """What the arm's `read` took out of the run folder."""
    return Measure(title, lambda result: float(result.extra[name]))


def by_outcome(folder: Folder) -> dict[str, Any]:
    """Mean tokens of right and of wrong completions, how far wrong ones differ in length, and the share worked out:
    early and late training steps."""
    steps = folder.series("train").steps
    numbers: dict[str, Any] = {}
    for when, chosen in (("first", steps[:EDGE]), ("last", steps[-EDGE:])):
        rows = [row for step in chosen for row in folder.completions("train", step)]
        for side, right in (("right", True), ("wrong", False)):
            lengths = [row["length"] for row in rows if (row["reward"] > 0.5) == right]
            numbers[f"{side}_length_{when}"] = _mean(lengths) if lengths else None
            numbers[f"{side}_spread_{when}"] = relative_spread(lengths) if lengths else None
        numbers[f"worked_{when}"] = _mean([float("<think>" in row["text"]) for row in rows])
    return numbers


def relative_spread(values: Sequence[float]) -> float:
    """Population deviation over the mean; 0 where the mean is 0."""
    mean = _mean(values)
    return _mean([(value - mean) ** 2 for value in values]) ** 0.5 / mean if mean else 0.0


def _values(result: Result, name: str) -> list[float]:
    return [value for _, value in result.train.points(name)]


def _mean(values: Sequence[float]) -> float:
    if not values:
        raise ValueError("no value to take the mean of")
    return sum(values) / len(values)
