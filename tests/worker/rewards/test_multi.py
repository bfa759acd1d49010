"""Several graders, one formula: gates, errors of parts, reported parts."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reinforge.grading.multi import GRADER, Multi
from worker.rewards.base import RewardResult, Scorable
from worker.rewards.multi import MultiRater
from worker.rewards.rater import Rater, RewardInput, failed, ok

CHECK = {"type": "string_check", "input": "x", "reference": "x", "operation": "eq"}
Answer = Callable[[RewardInput], RewardResult]


class Fake(Rater):
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.completions: list[str] = []
        self.skipped_rows = 0

    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        self.completions += [row.scorable.completion for row in rows]
        return [self.answer(row) for row in rows]

    def spared(self, rows: int) -> None:
        self.skipped_rows += rows


def length(row: RewardInput) -> RewardResult:
    return ok(float(len(row.scorable.completion)))


def rated(formula: str, parts: dict[str, Fake], *texts: str, **more: Any) -> list[RewardResult]:
    raw = {"type": "multi", "graders": dict.fromkeys(parts, CHECK), "calculate_output": formula} | more
    grader = GRADER.validate_python(raw)
    assert isinstance(grader, Multi)
    rows = [RewardInput(Scorable(text, {}, []), 0) for text in texts]
    return asyncio.run(MultiRater(grader, parts).rate(rows))


def test_the_formula_makes_one_value_and_the_parts_stay() -> None:
    parts = {"a": Fake(length), "b": Fake(lambda _: ok(0.5, reason="half", labels={"": "fair"}))}
    (result,) = rated("2 * a + b ^ 2", parts, "xxx")
    assert (result.status, result.value) == ("ok", 6.25)
    assert (result.parts, result.labels, result.reason) == ({"a": 3.0, "b": 0.5}, {"b": "fair"}, "b: half")
    assert result.part_status == {}


def test_an_expensive_part_runs_only_where_the_cheap_one_says_so() -> None:
    cheap, judge = Fake(length), Fake(lambda _: ok(0.9, usage={"j": {"cost": 1.0}}))
    gates = {"judge": {"part": "cheap", "above": 2, "otherwise": -1}}
    results = rated("judge", {"judge": judge, "cheap": cheap}, "x", "xxx", "xx", gates=gates)
    assert [result.value for result in results] == [-1, 0.9, -1]
    assert [result.part_status for result in results] == [
        {"judge": "not_applicable"}, {}, {"judge": "not_applicable"},
    ]  # fmt: skip
    assert [result.parts for result in results] == [{"cheap": 1}, {"judge": 0.9, "cheap": 3}, {"cheap": 2}]
    assert (judge.completions, judge.skipped_rows, cheap.skipped_rows) == (["xxx"], 2, 0)
    assert [result.usage for result in results] == [{}, {"j": {"cost": 1.0}}, {}]


def test_gates_may_follow_each_other() -> None:
    first, second, third = Fake(length), Fake(lambda _: ok(0)), Fake(lambda _: ok(9))
    gates = {"c": {"part": "b"}, "b": {"part": "a", "above": 1}}
    results = rated("a + b + c", {"c": third, "b": second, "a": first}, "x", "xx", gates=gates)
    assert [result.value for result in results] == [1, 2]
    assert (second.completions, third.completions) == (["xx"], [])


@pytest.mark.parametrize("formula", ["a + b", "b"])
def test_a_part_that_errs_is_the_errors_name_and_no_value(formula: str) -> None:
    bad = Fake(lambda _: failed("judge_error", "judge_refusal", "refused"))
    (result,) = rated(formula, {"a": Fake(length), "b": bad}, "x")
    assert (result.status, result.code, result.value) == ("judge_error", "judge_refusal", None)
    assert result.message == "b: refused"
    assert (result.parts, result.part_status) == ({"a": 1.0}, {"b": "judge_error"})


def test_a_part_that_the_formula_does_not_use_may_fail() -> None:
    bad = Fake(lambda _: failed("exception", "exception", "oops"))
    (result,) = rated("a", {"a": Fake(length), "seen": bad}, "x")
    assert (result.status, result.value, result.part_status) == ("ok", 1.0, {"seen": "exception"})


def test_a_gate_whose_part_errs_stays_shut_and_the_row_errs() -> None:
    bad, judge = Fake(lambda _: failed("exception", "exception", "oops")), Fake(lambda _: ok(1))
    (result,) = rated("judge", {"rule": bad, "judge": judge}, "x", gates={"judge": {"part": "rule"}})
    assert (result.status, judge.completions) == ("exception", [])


def test_a_part_that_does_not_apply_leaves_the_row_out() -> None:
    nothing = RewardResult(name="", status="not_applicable", value=None)
    (result,) = rated("a + b", {"a": Fake(length), "b": Fake(lambda _: nothing)}, "x")
    assert (result.status, result.value) == ("not_applicable", None)


def test_a_formula_without_a_value_is_an_error_with_its_numbers() -> None:
    (result,) = rated("log(a - 1)", {"a": Fake(length)}, "x")
    assert (result.status, result.code) == ("bad_value", "formula_error")
    assert "a = 1" in (result.message or "")
