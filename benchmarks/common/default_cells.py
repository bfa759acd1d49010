"""The cells of `benchmarks/defaults.py` and what their runs come to. Pure functions over results.

A cell is one model, one task and one preset. In it the rule runs first, then constant rates around the one that it
falls to, each only as long as it can still show that the rule is a bad choice.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common.learned import ACCURACY, steps_to
from common.runs import Result, StopRule

LEVEL = 0.9
"""Of held-out answers; reached by the first of two evaluations in a row."""
EVERY = 2
"""Steps between evaluations."""
STEPS = 80
"""At most, of a cell's first run."""
LEAST = 6
"""At least, of any run."""
PAST = 20
"""Steps that the rule's run goes on past the level, to show that it stays there."""
STAYS = 0.8
"""Least mean of held-out accuracy over those steps."""
RULE = 0.0
"""The rule itself, among the factors."""
FACTORS = (RULE, 2.0, 4.0, 1.0, 0.5, 0.25)
"""Constant rates, as multiples of the one that the rule falls to, in the order in which they run."""
SHARE, MORE = 1.5, 10
"""The rule is good where it needs at most 1.5 × the steps of the best rate, or 10 more."""


@dataclass(frozen=True, slots=True)
class Cell:
    width: int
    task: str
    preset: str
    factors: tuple[float, ...] = FACTORS

    @property
    def name(self) -> str:
        return f"w{self.width}/{self.task}/{self.preset}"

    def run_name(self, factor: float) -> str:
        return f"{self.name}/{factor_name(factor)}"


def factor_name(factor: float) -> str:
    return "rule" if factor == RULE else f"x{factor:g}"


@dataclass(frozen=True, slots=True)
class Stays(StopRule):
    """End a run so many evaluations after it has reached the level."""

    past: int = 0

    def reached(self, values: Sequence[float | None]) -> bool:
        return StopRule.reached(self, values[: len(values) - self.past])


FIRST_STOP = Stays(at_least=LEVEL, metric=ACCURACY, past=PAST // EVERY - 1)
LATER_STOP = StopRule(at_least=LEVEL, metric=ACCURACY)


def reached(result: Result) -> int | None:
    """Steps to the level."""
    return steps_to(result.held_out, ACCURACY, LEVEL)


def limit(results: Sequence[Result]) -> int:
    """Steps for the next rate of a cell, after the rule's and maybe others: as long as it can show the rule to be bad.

    A rate shows that by needing so few steps that the rule needs more than `SHARE` times them and more than `MORE`
    more. Where the rule has not got there, every rate runs as long as the best one needed.
    """
    if not results:
        return STEPS
    rule, *others = map(reached, results)
    bounds = [step for step in others if step is not None]
    if rule is not None:
        bounds.append(max(step for step in range(0, rule + 1, EVERY) if step == 0 or not holds(rule, step)))
    return max(LEAST, min(bounds, default=STEPS - EVERY) + EVERY)


def holds(rule: int, best: int) -> bool:
    """Whether the rule is good, by its steps and those of the best rate."""
    return rule <= SHARE * best or rule <= best + MORE


def diverged(result: Result) -> bool:
    """It failed, or did not stay where it had come: its last evaluations, from the level on, are below `STAYS`."""
    if not result.ok:
        return True
    step = reached(result)
    if step is None:
        return False
    later = [value for at, value in result.held_out.points(ACCURACY) if at >= step]
    return sum(later) / len(later) < STAYS or not all(map(math.isfinite, later))


def outcome(cell: Cell, rates: Mapping[float, float], results: Mapping[float, Result]) -> dict[str, Any]:
    """One cell: each rate's steps, and whether the rule holds; `good` is None until that is decided.

    `results` by factor, in the order in which they ran.
    """
    runs = []
    for factor, result in results.items():
        step = reached(result)
        accuracy = result.held_out.points(ACCURACY)
        runs.append(
            {
                "factor": factor,
                "learning_rate": rates[factor],
                "steps": step,
                "cut_at": result.step if step is None else None,
                "ran": result.step,
                "outcome": result.outcome,
                "diverged": diverged(result),
                "curve": [[at, round(value, 3)] for at, value in accuracy],
                "seconds": round(result.seconds),
            }
        )
    rule = next((run for run in runs if run["factor"] == RULE), None)
    reaching = [run for run in runs if run["steps"] is not None]
    best = min(reaching, key=lambda run: (run["steps"], run["factor"] != RULE), default=None)
    good = _good(rule, best, complete=set(results) >= set(cell.factors))
    return {
        "width": cell.width,
        "task": cell.task,
        "preset": cell.preset,
        "base": runs[0]["curve"][0][1] if runs and runs[0]["curve"] else None,
        "rule_steps": rule and rule["steps"],
        "best_steps": best and best["steps"],
        "best_factor": best and best["factor"],
        "diverged": rule and rule["diverged"],
        "good": good,
        "runs": runs,
    }


def _good(rule: dict[str, Any] | None, best: dict[str, Any] | None, *, complete: bool) -> bool | None:
    """One rate can show that the rule is bad; that it is good takes all of them."""
    if rule is None:
        return None
    if rule["diverged"] or (rule["steps"] and best and not holds(rule["steps"], best["steps"])):
        return False
    return rule["steps"] is not None if complete else None


def verdict(cells: Sequence[Mapping[str, Any]], widths: Sequence[int], total: int) -> dict[str, Any]:
    """Over the cells of these widths, of which there are to be `total`: how many are decided, good, diverged."""
    counted = [cell for cell in cells if cell["width"] in widths]
    return {
        "cells": total,
        "measured": sum(cell["good"] is not None for cell in counted),
        "good": sum(cell["good"] is True for cell in counted),
        "diverged": sum(bool(cell["diverged"]) for cell in counted),
    }
