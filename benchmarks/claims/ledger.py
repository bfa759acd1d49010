"""What a claim is: a statement, the runs that speak about it, and a rule, written before they ran, that marks it.

A rule is a list of tests on the measured numbers of three seeds. All hold: **confirmed**. One does not: **refuted**,
at this scale. Where the mechanism did not act at all (`acted` fails), the runs say nothing: **out of reach**.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from common.folder import Folder
from common.runs import Result, Run, StopRule

SEEDS = (0, 1, 2)

Mark = Literal["confirmed", "refuted", "out of reach"]
Numbers = Mapping[str, Mapping[str, Sequence[float]]]
"""arm → measure → one number per seed."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A job that several claims may share; the same name and seed run once."""

    name: str
    spec: dict[str, Any]
    read: Callable[[Folder], dict[str, Any]] | None = None
    stop: StopRule | None = None
    preset: str | None = None
    """Of the benchmark of learning, whose runs these are; they stand under this name in its folder."""

    def runs(self) -> list[Run]:
        return [Run(self.preset or self.name, seed, self.spec, self.stop, self.read) for seed in SEEDS]


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    """With its unit, as the page shows it."""
    of: Callable[[Result], float]


@dataclass(frozen=True, slots=True)
class Test:
    """One sentence that is true or not of the numbers."""

    __test__ = False  # for pytest

    says: str
    holds: Callable[[Numbers], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    id: str
    statement: str
    """As the source has it, in our words."""
    source: str
    ran: str
    """What our runs are: task, and what differs between the arms."""
    arms: Mapping[str, Arm]
    """By the label that the page shows."""
    measures: Sequence[Measure]
    rule: Sequence[Test]
    acted: Sequence[Test] = ()
    """That the mechanism was there at all."""
    note: str = ""
    """Written after the runs: why it came out so, as far as the numbers tell."""

    def numbers(self, results: Mapping[tuple[str, int], Result]) -> dict[str, dict[str, list[float]]]:
        """Raises KeyError while a run is missing."""
        return {
            label: {
                measure.name: [round(measure.of(results[arm.name, seed]), 5) for seed in SEEDS]
                for measure in self.measures
            }
            for label, arm in self.arms.items()
        }

    def mark(self, numbers: Numbers) -> Mark:
        if not all(test.holds(numbers) for test in self.acted):
            return "out of reach"
        return "confirmed" if all(test.holds(numbers) for test in self.rule) else "refuted"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def higher(measure: Measure, arm: str, than: str, *, by: float = 0.0) -> Test:
    """In every seed, and by at least `by` in the median of the differences."""

    def holds(numbers: Numbers) -> bool:
        found = _differences(numbers, measure, arm, than)
        return min(found) > 0 and median(found) >= by

    return Test(f"{measure.name}: {arm} above {than} in every seed, by {by:g} or more in the median", holds)


def times(measure: Measure, arm: str, of: str, *, at_least: float = 0.0, at_most: float = 0.0) -> Test:
    """A ratio: in every seed on the same side of 1 as the bound, beyond the bound in the median. One bound is given."""

    def holds(numbers: Numbers) -> bool:
        pairs = zip(numbers[arm][measure.name], numbers[of][measure.name], strict=True)
        ratios = [one / other if other else float("inf") for one, other in pairs]
        if at_least:
            return min(ratios) > 1 and median(ratios) >= at_least
        return max(ratios) < 1 and median(ratios) <= at_most

    bound = f"at least {at_least:g}" if at_least else f"at most {at_most:g}"
    return Test(f"{measure.name}: {arm} {bound} × {of} in the median, on that side of 1 in every seed", holds)


def close(measure: Measure, arm: str, to: str, *, within: float) -> Test:
    """Neither better nor worse: the median of the differences."""

    def holds(numbers: Numbers) -> bool:
        return abs(median(_differences(numbers, measure, arm, to))) <= within

    return Test(f"{measure.name}: {arm} within {within:g} of {to} in the median", holds)


def not_below(measure: Measure, arm: str, than: str, *, within: float) -> Test:
    def holds(numbers: Numbers) -> bool:
        return median(_differences(numbers, measure, arm, than)) >= -within

    return Test(f"{measure.name}: {arm} at most {within:g} below {than} in the median", holds)


def at_least(measure: Measure, arm: str, bound: float) -> Test:
    """In every seed."""
    return Test(
        f"{measure.name}: {arm} {bound:g} or more in every seed",
        lambda numbers: min(numbers[arm][measure.name]) >= bound,
    )


def at_most(measure: Measure, arm: str, bound: float) -> Test:
    """In every seed."""
    return Test(
        f"{measure.name}: {arm} {bound:g} or less in every seed",
        lambda numbers: max(numbers[arm][measure.name]) <= bound,
    )


def _differences(numbers: Numbers, measure: Measure, arm: str, than: str) -> list[float]:
    pairs = zip(numbers[arm][measure.name], numbers[than][measure.name], strict=True)
    return [one - other for one, other in pairs]
