"""Finds the step at which a metric turned bad."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from reinforge.report_card.conditions import parse

HELD_OUT = {"held_out": "held_out/reward_mean"}
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip


@dataclass(frozen=True)
class BadCondition:
    key: str
    sign: str
    number: float

    @property
    def kind(self) -> Literal["train", "held_out"]:
        return "held_out" if self.key.startswith("held_out/") else "train"

    def holds(self, value: float) -> bool:
        return _SIGNS[self.sign](value, self.number)


@dataclass(frozen=True)
class Turn:
    good: int
    bad: int
    """`good` and `bad` are steps of successive points: the last good one and the first bad one."""
    values: tuple[float, float]
    kind: Literal["train", "held_out"]

    @property
    def updates(self) -> tuple[int, int]:
        """First and last step whose update lies between the two measurements.

        An evaluation measures the policy after its step, a metric of training before the step's update.
        """
        return (self.good + 1, self.bad) if self.kind == "held_out" else (self.good, self.bad - 1)


def read_condition(text: str) -> BadCondition:
    """Parse a condition such as `held_out<0.6` or `KEY>2`. Raises InvalidInput `invalid_condition`."""
    name, sign, number = parse(text, "--bad")[0]
    return BadCondition(HELD_OUT.get(name, name), sign, number)


def find_turn(points: Sequence[tuple[int, float | None]], condition: BadCondition) -> Turn | None:
    """Find where the bad points at the curve's end begin or, if its last point is good, the first bad ones.

    points: step and value, ascending. None if no bad point follows a good one.
    """
    measured = [(step, value) for step, value in points if value is not None]
    bad = [condition.holds(value) for _, value in measured]
    turns = [index for index in range(1, len(bad)) if bad[index] and not bad[index - 1]]
    if not turns:
        return None
    index = turns[-1] if bad[-1] else turns[0]
    (good, before), (first, after) = measured[index - 1], measured[index]
    return Turn(good, first, (before, after), condition.kind)
