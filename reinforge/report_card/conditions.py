"""Conditions on a report card: `held_out_gain>0.02, pass@4>=0.6, witnesses=0`.

`KEY` is the adapter's value of the figure with this key, `KEY_gain` adapter minus base, `KEY_parent_gain`
adapter minus parent. `.low` or `.high` after such a name is the bound of its interval. `ability_gain` is the
smallest change of reward over the ability probes. `witnesses` and `findings` are counts.
"""

import operator
import re
from collections.abc import Callable

from reinforge.errors import InvalidInput
from reinforge.schemas.report_card import (
    CardCondition,
    CardEstimate,
    CardRequirement,
    ReportCard,
)

LONGEST = 1000
MOST = 20
_CONDITION = re.compile(
    r"(?P<name>[^<>=,\s](?:[^<>=,]*[^<>=,\s])?)\s*(?P<sign><=|>=|<|>|=)\s*(?P<number>-?[0-9.]{1,20})"
)
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_BOUNDS = ("low", "high")
_CHANGES = (("_parent_gain", "parent_change"), ("_gain", "change"))


def parse(text: str, param: str = "require", *, texts: int = 1) -> list[tuple[str, str, float]]:
    """Parse conditions into (name, sign, number). texts: how many lists `text` joins; limits apply to each.

    Raises InvalidInput `invalid_condition`.
    """
    if len(text) > texts * (LONGEST + 2):
        raise _invalid(f"The conditions are longer than {LONGEST} characters.", param)
    conditions = []
    for part in (part.strip() for part in text.split(",")):
        match = _CONDITION.fullmatch(part)
        try:
            if match is None:
                raise ValueError(part)
            conditions.append((match["name"], match["sign"], float(match["number"])))
        except ValueError as error:
            raise _invalid(f"{part[:100]!r} is not a condition.", param) from error
    if len(conditions) > texts * MOST:
        raise _invalid(f"There are more than {MOST} conditions.", param)
    return conditions


def _invalid(message: str, param: str) -> InvalidInput:
    return InvalidInput(
        message,
        code="invalid_condition",
        param=param,
        hint="Write NAME SIGN NUMBER, separated by commas, such as held_out_gain>0.02, pass@4>=0.6, witnesses=0.",
    )


def check(card: ReportCard, text: str) -> CardRequirement:
    """A condition on a missing value is not met. Raises as `parse` does."""
    conditions = [_checked(card, *condition) for condition in parse(text, texts=2)]
    return CardRequirement(
        text=text, met=all(condition.met for condition in conditions), conditions=conditions
    )


def _checked(card: ReportCard, name: str, sign: str, number: float) -> CardCondition:
    condition = f"{name}{sign}{number:g}"
    value = value_of(card, name)
    if value is None:
        return CardCondition(condition=condition, met=False, message=f"The card has no {name}.")
    met = _SIGNS[sign](value, number)
    return CardCondition(condition=condition, met=met, value=value, message=f"{name} is {value:.4g}.")


def value_of(card: ReportCard, name: str) -> float | None:
    match name:
        case "witnesses":
            compared = any(figure.key == "held_out" and figure.change for figure in card.figures)
            return float(len(card.witnesses)) if compared or card.witnesses else None
        case "findings":
            return float(len(card.findings))
    base_name, _, bound = name.rpartition(".")
    if bound not in _BOUNDS:
        base_name, bound = name, "value"
    estimate = _estimate(card, base_name)
    return None if estimate is None else float(getattr(estimate, bound))


def _estimate(card: ReportCard, name: str) -> CardEstimate | None:
    if name == "ability_gain":
        changes = [
            figure.change for ability in card.abilities for figure in ability.figures[:1] if figure.change
        ]
        return min(changes, key=lambda change: change.value, default=None)
    figures = {figure.key: figure for figure in card.figures}
    if name in figures:
        return figures[name].adapter
    for suffix, field in _CHANGES:
        if name.endswith(suffix) and (figure := figures.get(name.removesuffix(suffix))) is not None:
            estimate: CardEstimate | None = getattr(figure, field)
            return estimate
    return None
