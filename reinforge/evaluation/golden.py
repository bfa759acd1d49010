"""Golden cases: completions with expected scores, and checks against them."""

import math
from collections.abc import Sequence
from typing import Any, Self
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reinforge.schemas.jobs import RewardResult

TOLERANCE = 1e-6


class Expectation(BaseModel):
    """Expected reward: one of `value`; `least` and/or `most`; `above`; `not_applicable`."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    value: float | None = Field(default=None, allow_inf_nan=False)
    tolerance: float = Field(default=TOLERANCE, ge=0, allow_inf_nan=False)
    least: float | None = Field(default=None, allow_inf_nan=False)
    most: float | None = Field(default=None, allow_inf_nan=False)
    above: str | None = Field(default=None, max_length=262_144)
    """Another completion of the row, which must get a smaller reward."""
    not_applicable: bool = False

    @model_validator(mode="after")
    def one_kind(self) -> Self:
        ranged = self.least is not None or self.most is not None
        if (self.value is not None) + ranged + (self.above is not None) + self.not_applicable != 1:
            raise ValueError(
                "give exactly one of `value`, a range (`least`, `most`), `above` or `not_applicable`"
            )
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("`least` is larger than `most`")
        return self

    def __str__(self) -> str:
        if self.value is not None:
            return f"{self.value:g}"
        if self.above is not None:
            return "more than the other completion"
        if self.not_applicable:
            return "no reward (not applicable)"
        return " and ".join(
            f"{word} {bound:g}"
            for word, bound in (("at least", self.least), ("at most", self.most))
            if bound is not None
        )


class GoldenCase(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    item: dict[str, Any] = {}
    prompt: str | list[dict[str, Any]] = ""
    completion: str = Field(max_length=262_144)
    expect: Expectation
    note: str | None = Field(default=None, max_length=400)

    def rows(self) -> list[dict[str, Any]]:
        texts = [self.completion] + ([self.expect.above] if self.expect.above is not None else [])
        return [{"completion": text, "item": self.item, "prompt": self.prompt} for text in texts]


class GoldenOutcome(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    passed: bool
    expected: str
    value: float | None = None
    status: str
    other_value: float | None = None
    """Reward of the completion that must get a smaller one."""
    message: str | None = None
    wall_ms: float = 0.0


def rows_of(cases: Sequence[GoldenCase]) -> list[dict[str, Any]]:
    return [row for case in cases for row in case.rows()]


def outcomes(cases: Sequence[GoldenCase], results: Sequence[RewardResult]) -> list[GoldenOutcome]:
    outcomes_in_order, rest = [], list(results)
    for case in cases:
        count = len(case.rows())
        case_results, rest = rest[:count], rest[count:]
        outcomes_in_order.append(
            _outcome(case.expect, case_results[0], case_results[1] if count == 2 else None)
        )
    return outcomes_in_order


def _outcome(expect: Expectation, result: RewardResult, other: RewardResult | None) -> GoldenOutcome:
    why = _why_not(expect, result, other)
    return GoldenOutcome(
        passed=why is None,
        expected=str(expect),
        value=result.value,
        status=result.status,
        other_value=other.value if other else None,
        message=why,
        wall_ms=result.wall_ms + (other.wall_ms if other else 0.0),
    )


def _why_not(expect: Expectation, result: RewardResult, other: RewardResult | None) -> str | None:
    for scored, which in ((result, "it"), (other, "the other completion")):
        if scored is not None and scored.status not in ("ok", "not_applicable"):
            return f"The reward failed on {which}: {scored.status}. {scored.message or ''}".strip()
    if expect.not_applicable:
        return None if result.status == "not_applicable" else f"It got {result.value:g} instead of no reward."
    if result.value is None:
        return f"It got no reward instead of {expect}."
    if expect.above is not None:
        return _ordering(result.value, other.value if other else None)
    if expect.value is not None:
        close = math.isclose(result.value, expect.value, rel_tol=TOLERANCE, abs_tol=expect.tolerance)
        return None if close else f"It got {result.value:g} instead of {expect}."
    low = -math.inf if expect.least is None else expect.least
    high = math.inf if expect.most is None else expect.most
    return None if low <= result.value <= high else f"It got {result.value:g} instead of {expect}."


def _ordering(value: float, other: float | None) -> str | None:
    if other is None:
        return "The other completion got no reward, so the two cannot be compared."
    return (
        None
        if value > other
        else f"It got {value:g}, which is not more than the other completion's {other:g}."
    )


def junit(suite: str, cases: Sequence[GoldenCase], results: Sequence[GoldenOutcome]) -> str:
    failures = sum(not result.passed for result in results)
    root = ElementTree.Element(
        "testsuite",
        name=suite,
        tests=str(len(results)),
        failures=str(failures),
        errors="0",
        time=f"{sum(result.wall_ms for result in results) / 1000:.3f}",
    )
    for number, (case, outcome) in enumerate(zip(cases, results, strict=True), 1):
        name = f"{number}: {case.note or case.completion[:60] or '(empty)'}"
        node = ElementTree.SubElement(
            root, "testcase", classname=suite, name=_printable(name), time=f"{outcome.wall_ms / 1000:.3f}"
        )
        if not outcome.passed:
            message = _printable(outcome.message or "")
            ElementTree.SubElement(node, "failure", message=message).text = _printable(case.completion[:2000])
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    return "".join(
        character if character in "\t\n\r" or (character >= " " and character not in "\ufffe\uffff")
        else "\ufffd"
        for character in text
    )  # fmt: skip
