"""Outcomes of golden cases."""

from typing import Any
from xml.etree import ElementTree

import pytest
from pydantic import ValidationError

from reinforge.evaluation.golden import Expectation, GoldenCase, junit, outcomes, rows_of
from reinforge.schemas.jobs import RewardResult


def result(value: float | None, status: str = "ok", **more: Any) -> RewardResult:
    return RewardResult(name="r", status=status, value=value, wall_ms=1.0, **more)


def case(**expect: Any) -> GoldenCase:
    return GoldenCase(item={"answer": "4"}, prompt="2 + 2?", completion="4", expect=Expectation(**expect))


@pytest.mark.parametrize(
    ("expect", "results", "passed"),
    [
        ({"value": 1}, [result(1.0)], True),
        ({"value": 1}, [result(1.0000001)], True),
        ({"value": 1}, [result(0.99)], False),
        ({"value": 0.5, "tolerance": 0.1}, [result(0.59)], True),
        ({"least": 0.5}, [result(0.5)], True),
        ({"least": 0.5, "most": 0.7}, [result(0.8)], False),
        ({"most": 0}, [result(0.1)], False),
        ({"above": "5"}, [result(0.3), result(0.2)], True),
        ({"above": "5"}, [result(0.3), result(0.3)], False),
        ({"above": "5"}, [result(0.3), result(None, "not_applicable")], False),
        ({"not_applicable": True}, [result(None, "not_applicable")], True),
        ({"not_applicable": True}, [result(0.0)], False),
        ({"value": 0}, [result(None, "not_applicable")], False),
        ({"value": 0}, [result(None, "exception", message="KeyError: 'x'")], False),
        ({"most": 1}, [result(None, "timeout")], False),
    ],
)
def test_every_kind_of_expectation(expect: dict[str, Any], results: list[RewardResult], passed: bool) -> None:
    (outcome,) = outcomes([case(**expect)], results)
    assert outcome.passed is passed
    assert (outcome.message is None) is passed


def test_an_error_is_never_taken_for_a_zero_and_keeps_its_message() -> None:
    (outcome,) = outcomes([case(value=0)], [result(0.0, "exception", message="KeyError: 'x'")])
    assert not outcome.passed
    assert "KeyError" in (outcome.message or "")


def test_results_go_to_their_cases_in_order() -> None:
    cases = [case(value=1), case(above="5"), case(value=0)]
    assert [row["completion"] for row in rows_of(cases)] == ["4", "4", "5", "4"]
    results = outcomes(cases, [result(1.0), result(0.9), result(0.1), result(1.0)])
    assert [outcome.passed for outcome in results] == [True, True, False]
    assert results[1].other_value == 0.1


@pytest.mark.parametrize(
    "expect",
    [
        {},
        {"value": 1, "least": 0},
        {"above": "x", "not_applicable": True},
        {"least": 2, "most": 1},
        {"value": "nan"},
    ],
)
def test_an_expectation_is_of_one_kind(expect: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Expectation(**expect)


def test_junit_is_xml_whatever_the_completion_holds() -> None:
    hostile = GoldenCase(completion="\x00</testcase> & <b>", expect=Expectation(value=1))
    text = junit(
        "rew_1", [hostile, case(value=1)], outcomes([hostile, case(value=1)], [result(0.0), result(1.0)])
    )
    root = ElementTree.fromstring(text)
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert [len(suite) for suite in root] == [1, 0]
