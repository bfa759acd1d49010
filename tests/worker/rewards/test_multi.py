"""Several graders, one formula: gates, errors of parts, and what is told about them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reinforge.grading.multi import GRADER, Multi
from worker.rewards.base import RewardResult, Scorable
from worker.rewards.multi import MultiRater
from worker.rewards.rater import Rater, Row, failed, ok

CHECK = {"type": "string_check", "input": "x", "reference": "x", "operation": "eq"}
Answer = Callable[[Row], RewardResult]


class Fake(Rater):
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.seen: list[str] = []
        self.kept_away = 0

    async def rate(self, rows: Sequence[Row]) -> list[RewardResult]:
        self.seen += [row.scorable.completion for row in rows]
        return [self.answer(row) for row in rows]

    def spared(self, rows: int) -> None:
        self.kept_away += rows


def length(row: Row) -> RewardResult:
    return ok(float(len(row.scorable.completion)))


def rated(formula: str, parts: dict[str, Fake], *texts: str, **more: Any) -> list[RewardResult]:
    raw = {"type": "multi", "graders": dict.fromkeys(parts, CHECK), "calculate_output": formula} | more
    grader = GRADER.validate_python(raw)
    assert isinstance(grader, Multi)
    rows = [Row(Scorable(text, {}, []), 0) for text in texts]
    return asyncio.run(MultiRater(grader, parts).rate(rows))


def test_the_formula_makes_one_value_and_the_parts_stay() -> None:
    parts = {"a": Fake(length), "b": Fake(lambda _: ok(0.5, reason="half", labels={"": "fair"}))}
    (found,) = rated("2 * a + b ^ 2", parts, "xxx")
    assert (found.status, found.value) == ("ok", 6.25)
    assert (found.parts, found.labels, found.reason) == ({"a": 3.0, "b": 0.5}, {"b": "fair"}, "b: half")
    assert found.part_status == {}


def test_an_expensive_part_runs_only_where_the_cheap_one_says_so() -> None:
    cheap, judge = Fake(length), Fake(lambda _: ok(0.9, usage={"j": {"cost": 1.0}}))
    gates = {"judge": {"part": "cheap", "above": 2, "otherwise": -1}}
    found = rated("judge", {"judge": judge, "cheap": cheap}, "x", "xxx", "xx", gates=gates)
    assert [each.value for each in found] == [-1, 0.9, -1]
    assert [each.part_status for each in found] == [
        {"judge": "not_applicable"}, {}, {"judge": "not_applicable"},
    ]  # fmt: skip
    assert [each.parts for each in found] == [{"cheap": 1}, {"judge": 0.9, "cheap": 3}, {"cheap": 2}]
    assert (judge.seen, judge.kept_away, cheap.kept_away) == (["xxx"], 2, 0)
    assert [each.usage for each in found] == [{}, {"j": {"cost": 1.0}}, {}]


def test_gates_may_follow_each_other() -> None:
    first, second, third = Fake(length), Fake(lambda _: ok(0)), Fake(lambda _: ok(9))
    gates = {"c": {"part": "b"}, "b": {"part": "a", "above": 1}}
    found = rated("a + b + c", {"c": third, "b": second, "a": first}, "x", "xx", gates=gates)
    assert [each.value for each in found] == [1, 2]
    assert (second.seen, third.seen) == (["xx"], [])


@pytest.mark.parametrize("formula", ["a + b", "b"])
def test_a_part_that_errs_is_the_errors_name_and_no_value(formula: str) -> None:
    bad = Fake(lambda _: failed("judge_error", "judge_refusal", "refused"))
    (found,) = rated(formula, {"a": Fake(length), "b": bad}, "x")
    assert (found.status, found.code, found.value) == ("judge_error", "judge_refusal", None)
    assert found.message == "b: refused"
    assert (found.parts, found.part_status) == ({"a": 1.0}, {"b": "judge_error"})


def test_a_part_that_the_formula_does_not_use_may_fail() -> None:
    bad = Fake(lambda _: failed("exception", "exception", "oops"))
    (found,) = rated("a", {"a": Fake(length), "seen": bad}, "x")
    assert (found.status, found.value, found.part_status) == ("ok", 1.0, {"seen": "exception"})


def test_a_gate_whose_part_errs_stays_shut_and_the_row_errs() -> None:
    bad, judge = Fake(lambda _: failed("exception", "exception", "oops")), Fake(lambda _: ok(1))
    (found,) = rated("judge", {"rule": bad, "judge": judge}, "x", gates={"judge": {"part": "rule"}})
    assert (found.status, judge.seen) == ("exception", [])


def test_a_part_that_does_not_apply_leaves_the_row_out() -> None:
    nothing = RewardResult(name="", status="not_applicable", value=None)
    (found,) = rated("a + b", {"a": Fake(length), "b": Fake(lambda _: nothing)}, "x")
    assert (found.status, found.value) == ("not_applicable", None)


def test_a_formula_without_a_value_is_an_error_with_its_numbers() -> None:
    (found,) = rated("log(a - 1)", {"a": Fake(length)}, "x")
    assert (found.status, found.code) == ("bad_value", "formula_error")
    assert "a = 1" in (found.message or "")
