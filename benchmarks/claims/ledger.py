"""What a claim is: a statement, the runs that speak about it, and a rule, written before they ran, that marks it.

A rule is a list of tests on the measured numbers of three seeds. All hold: **reproduced here**. One does not: **not
reproduced here**. Bounds say what the mechanism needs in order to act at all: below one of them the runs say nothing
about the claim, whatever the rule says, and the mark is **could not act**.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from common.folder import Folder
from common.runs import Result, Run, StopRule

SEEDS = (0, 1, 2)

Mark = Literal["reproduced here", "not reproduced here", "could not act"]
MARKS: tuple[Mark, ...] = ("reproduced here", "not reproduced here", "could not act")
Numbers = Mapping[str, Mapping[str, Sequence[float]]]
"""arm → measure → one number per seed."""
When = Literal["before the runs", "before the measure", "after the measure"]
"""A bound was written: before any run; after the runs but before its own number was taken; or with the number known."""


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
    fact: Callable[[Mapping[str, Any]], float] | None = None
    """The same from what `results/learning.json` has of a run that is not stored any more."""


@dataclass(frozen=True, slots=True)
class Test:
    """One sentence that is true or not of the numbers."""

    __test__ = False  # for pytest

    says: str
    holds: Callable[[Numbers], bool]


@dataclass(frozen=True, slots=True)
class Bound:
    """What the mechanism needs: below it, runs say nothing about the claim."""

    test: Test
    measures: Sequence[tuple[str, Measure]]
    """(arm, measure) that the test reads."""
    when: When

    def holds(self, numbers: Numbers) -> bool | None:
        """None where a number is missing."""
        there = all(measure.name in numbers.get(arm, {}) for arm, measure in self.measures)
        return self.test.holds(numbers) if there else None


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
    bounds: Sequence[Bound] = ()

    def numbers(self, results: Mapping[tuple[str, int], Result]) -> dict[str, dict[str, list[float]]]:
        """Raises KeyError while a run is missing."""
        return {
            label: {
                measure.name: [round(measure.of(results[arm.name, seed]), 5) for seed in SEEDS]
                for measure in self.measures
            }
            for label, arm in self.arms.items()
        }

    def evidence(self) -> dict[str, list[Measure]]:
        """What bounds read beside `measures`, by arm."""
        needed: dict[str, dict[str, Measure]] = {}
        for bound in self.bounds:
            for arm, measure in bound.measures:
                if measure not in self.measures:
                    needed.setdefault(arm, {})[measure.name] = measure
        return {arm: list(measures.values()) for arm, measures in needed.items()}

    def could_act(self, numbers: Numbers) -> bool | None:
        """`numbers` with those of the evidence. None: not measured, and nothing that was measured is below a bound."""
        answers = [bound.holds(numbers) for bound in self.bounds]
        return False if False in answers else None if None in answers else True

    def mark(self, numbers: Numbers) -> Mark:
        if self.could_act(numbers) is False:
            return "could not act"
        return "reproduced here" if all(test.holds(numbers) for test in self.rule) else "not reproduced here"


def with_evidence(numbers: Numbers, evidence: Numbers) -> dict[str, dict[str, Sequence[float]]]:
    return {arm: {**numbers.get(arm, {}), **evidence.get(arm, {})} for arm in [*numbers, *evidence]}


def needs_at_least(measure: Measure, arm: str, bound: float, when: When = "before the measure") -> Bound:
    return Bound(at_least(measure, arm, bound), ((arm, measure),), when)


def needs_at_most(measure: Measure, arm: str, bound: float, when: When = "before the measure") -> Bound:
    return Bound(at_most(measure, arm, bound), ((arm, measure),), when)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def higher(measure: Measure, arm: str, than: str, *, by: float = 0.0) -> Test:
    """In every seed, and by at least `by` in the median of the differences."""

    def holds(numbers: Numbers) -> bool:
        differences = _differences(numbers, measure, arm, than)
        return min(differences) > 0 and median(differences) >= by

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
