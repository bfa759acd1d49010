"""The ledger's pure parts: rules, numbers out of runs, the page; and that what is committed is whole and up to date."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claims import page, pictures, registry, results
from claims.credit import _rows
from claims.ledger import (
    MARKS,
    Arm,
    Bound,
    Claim,
    Measure,
    Test,
    at_least,
    at_most,
    close,
    higher,
    needs_at_least,
    not_below,
    times,
    with_evidence,
)
from claims.measures import crossing, growth, held_out_at, held_out_gain, last, over, ratio
from claims.multiple import search_score
from common.folder import Series
from common.runs import Result

from reinforge.spec import JobSpec

SCORE = Measure("score", lambda result: result.step)
REWARDS = Path(results.__file__).parent / "rewards"


def numbers(**arms: tuple[float, float, float]) -> dict[str, dict[str, list[float]]]:
    return {label: {"score": list(values)} for label, values in arms.items()}


@pytest.mark.parametrize(
    ("test", "values", "holds"),
    [
        (higher(SCORE, "a", "b", by=1), numbers(a=(2, 3, 4), b=(1, 1, 3)), True),
        (higher(SCORE, "a", "b", by=1), numbers(a=(2, 3, 3), b=(1, 1, 3)), False),
        (higher(SCORE, "a", "b", by=1), numbers(a=(1.5, 1.5, 9), b=(1, 1, 3)), False),
        (times(SCORE, "a", "b", at_least=2), numbers(a=(2, 3, 9), b=(1, 1, 8)), True),
        (times(SCORE, "a", "b", at_least=2), numbers(a=(2, 3, 7), b=(1, 1, 8)), False),
        (times(SCORE, "a", "b", at_least=2), numbers(a=(2, 3, 7), b=(0, 0, 1)), True),
        (times(SCORE, "a", "b", at_most=0.5), numbers(a=(1, 1, 3), b=(2, 4, 4)), True),
        (times(SCORE, "a", "b", at_most=0.5), numbers(a=(1, 1, 4), b=(2, 4, 4)), False),
        (close(SCORE, "a", "b", within=1), numbers(a=(0, 5, 9), b=(9, 4, 8)), True),
        (close(SCORE, "a", "b", within=1), numbers(a=(0, 5, 9), b=(9, 8, 12)), False),
        (not_below(SCORE, "a", "b", within=1), numbers(a=(9, 9, 9), b=(1, 1, 1)), True),
        (not_below(SCORE, "a", "b", within=1), numbers(a=(1, 1, 9), b=(3, 3, 1)), False),
        (at_least(SCORE, "a", 2), numbers(a=(2, 3, 4)), True),
        (at_least(SCORE, "a", 2), numbers(a=(1, 3, 4)), False),
        (at_most(SCORE, "a", 3), numbers(a=(1, 3, 3)), True),
        (at_most(SCORE, "a", 3), numbers(a=(1, 3, 4)), False),
    ],
)
def test_a_test_holds(test: Test, values: dict[str, dict[str, list[float]]], holds: bool) -> None:
    assert test.holds(values) is holds


def claim(*, bounds: tuple[Bound, ...] = (), rule: tuple[Test, ...] = ()) -> Claim:
    arm = Arm("task/one", {"model": "starter-arith"})
    return Claim(
        id="one", statement="It is so.", source="Somewhere", ran="A run.", arms={"a": arm}, measures=(SCORE,),
        rule=rule, bounds=bounds,
    )  # fmt: skip


def test_marks() -> None:
    yes, no = at_least(SCORE, "a", 1), at_least(SCORE, "a", 3)
    values = numbers(a=(2, 2, 2))
    assert claim(rule=(yes, yes)).mark(values) == "reproduced here"
    assert claim(rule=(yes, no)).mark(values) == "not reproduced here"


def test_below_a_bound_the_mark_is_that_the_mechanism_could_not_act() -> None:
    other = Measure("other", lambda result: 1.0)
    yes, no, unknown = (
        needs_at_least(SCORE, "a", 1),
        needs_at_least(SCORE, "a", 3),
        needs_at_least(other, "a", 1),
    )
    values, rule = numbers(a=(2, 2, 2)), (at_least(SCORE, "a", 1),)
    for bounds, could, mark in (
        ((yes,), True, "reproduced here"),
        ((yes, no), False, "could not act"),
        ((no, unknown), False, "could not act"),
        ((yes, unknown), None, "reproduced here"),
    ):
        one = claim(bounds=bounds, rule=rule)
        assert (one.could_act(values), one.mark(values)) == (could, mark)
    one = claim(bounds=(unknown,), rule=rule)
    assert one.evidence() == {"a": [other]}
    assert one.could_act(with_evidence(values, {"a": {"other": (0.5,)}})) is False


def test_numbers_of_runs_that_are_gone_stay_and_their_evidence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Measure("read", lambda result: float(result.extra["read"]))
    fact = Measure("fact", lambda result: float(result.extra["fact"]), lambda facts: float(facts["end"]))
    one = claim(
        bounds=tuple(needs_at_least(fact, "a", 1) for fact in (read, fact)), rule=(at_least(SCORE, "a", 1),)
    )
    monkeypatch.setattr(results, "CLAIMS", (one,))
    monkeypatch.setattr(results, "arms", lambda: [one.arms["a"]])
    monkeypatch.setattr(results, "learning_facts", lambda: {("task/one", 1): {"end": 2.0}})
    about = {"fingerprint": results.fingerprint(one.arms["a"]), "checkpoint": "abc"}
    committed: dict[str, Any] = {
        "claims": {"one": {"mark": "", "numbers": numbers(a=(1, 2, 3)), "evidence": {"a": {"read": [5.0]}}}},
        "arms": {"task/one": about},
        "curves": {},
        "machine": {"cores": 2},
    }
    content = results.collect({}, committed)
    assert content["arms"] == {"task/one": about}
    entry = content["claims"]["one"]
    assert entry["numbers"] == numbers(a=(1, 2, 3))
    assert entry["evidence"] == {"a": {"read": [5.0], "fact": [2.0]}}

    again = {
        ("task/one", run.seed): Result(
            name="task/one",
            seed=run.seed,
            digest=run.digest,
            outcome="succeeded",
            step=run.seed + 4,
            extra={"read": 0},
        )
        for run in one.arms["a"].runs()
    }
    entry = results.collect(again, committed)["claims"]["one"]
    assert entry["numbers"] == {"a": {"score": [4, 5, 6]}}
    assert entry["evidence"]["a"]["read"] == [0, 0, 0]
    assert entry["mark"] == "could not act"
    about["fingerprint"] = "other"
    assert results.collect({}, committed)["claims"] == {}


def run_of(**series: list[float | None]) -> Result:
    named = {name.replace("_", "/", 1): values for name, values in series.items()}
    steps = list(range(1, 1 + len(next(iter(named.values())))))
    return Result(
        name="r", seed=0, digest="d", outcome="succeeded",
        train=Series(steps, named), held_out=Series([0, 10], {"held_out/reward_mean": [0.25, 0.75]}),
    )  # fmt: skip


def test_measures() -> None:
    run = run_of(reward_mean=[1.0, 2.0, None, 4.0, 6.0])
    assert last("reward/mean", "", 2).of(run) == 5
    assert growth("reward/mean", "", 2).of(run) == 5 - 1.5
    assert ratio("reward/mean", "", 2).of(run) == 5 / 1.5
    assert growth("reward/mean", "", 2, start=1).of(run) == 5 - 1
    assert over("reward/mean", "", begin=2, end=4).of(run) == 3
    assert held_out_at(10, "").of(run) == 0.75
    assert held_out_gain("").of(run) == 0.5


@pytest.mark.parametrize(
    ("values", "step"), [((0.1, 0.5, 0.9), 15.0), ((0.8, 0.1, 0.1), 0.0), ((0.1, 0.2, 0.3), 25.0)]
)
def test_steps_to_a_level_lie_between_two_evaluations(values: tuple[float, ...], step: float) -> None:
    assert crossing([0, 10, 20], values, 0.7) == pytest.approx(step)


def test_a_set_is_searched_by_any_weighting() -> None:
    assert search_score([[1.0, 0.0], [0.0, 1.0]]) == pytest.approx(0.75, abs=0.01)
    assert search_score([[0.6, 0.6], [0.6, 0.6]]) == pytest.approx(0.6)


def test_every_arm_is_a_job_and_every_name_is_used_once() -> None:
    for arm in registry.arms():
        JobSpec.model_validate(arm.spec)
    ids = [claim.id for claim in registry.CLAIMS]
    assert len(ids) == len(set(ids)) >= 20
    for claim in registry.CLAIMS:
        assert claim.rule or not claim.arms
        assert len({measure.name for measure in claim.measures}) == len(claim.measures)


def test_an_arm_that_changed_no_longer_speaks_for_its_claim() -> None:
    one = claim(rule=(at_least(SCORE, "a", 1),))
    entry = {"mark": "reproduced here", "numbers": numbers(a=(1, 2, 3)), "evidence": {}}
    content: dict[str, Any] = {
        "claims": {"one": entry},
        "arms": {"task/one": {"fingerprint": results.fingerprint(one.arms["a"])}},
    }
    assert results.problems(content, (one,)) == []
    entry["mark"] = "could not act"
    assert results.problems(content, (one,)) == ["one: marked could not act, by its rule reproduced here"]
    entry["mark"] = "reproduced here"
    content["arms"]["task/one"]["fingerprint"] = "other"
    assert results.problems(content, (one,)) == ["one: task/one has changed since it ran"]
    assert results.problems({"claims": {}, "arms": {}}, (one,))[0].startswith("one has no mark")


def test_the_committed_page_says_what_the_results_say() -> None:
    """Claims whose runs are not done have no row; `claims.py --check` fails while there are any."""
    content = results.read()
    assert [problem for problem in results.problems(content) if "has no mark" not in problem] == []
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.text_of(content)
    rows = re.findall(rf"^\| \[.*\| \*\*({'|'.join(MARKS)})\*\* \|$", text, re.MULTILINE)
    assert len(rows) == len(content["claims"])
    for path, drawing in pictures.drawn(content).items():
        assert path.read_text(encoding="utf-8") == drawing


def test_a_curve_is_drawn_inside_its_picture() -> None:
    content = {
        "curves": {
            arm: {metric: [[0.0, 5.0, 10.0]] * 3} for arm, metric in pictures.PICTURES[0].lines.values()
        }
    }
    (text,) = pictures.drawn(content).values()
    points = [
        tuple(map(float, pair.split(",")))
        for points in re.findall(r'points="([^"]+)"', text)
        for pair in points.split()
    ]
    assert len(points) == len(pictures.PICTURES[0].lines) * (6 + 3)
    assert all(0 <= x <= pictures.WIDTH and 0 <= y <= pictures.HEIGHT for x, y in points)


def graded(name: str, text: str, **item: Any) -> Any:
    space: dict[str, Callable[..., Any]] = {}
    exec((REWARDS / f"{name}.py").read_text(encoding="utf-8"), space)
    return space["grade"]({"output_text": text}, {"answer": "132", **item})


def test_rewards_pay_for_what_they_say() -> None:
    worked = "<think>7+5=12,4+8+1=13</think><answer>132</answer>"
    assert graded("right", worked) == graded("right_at_once", "<answer>132</answer>") == 1
    assert (
        graded("right_at_once", worked) == graded("right", "<answer>122</answer>") == graded("right", "") == 0
    )
    assert graded("last_digit", "<answer>95</answer>") == 1
    assert graded("sevens_or_sums", "<answer>71</answer>", answer="") == 0.5
    assert graded("digits", "<answer>15</answer>") == {"score": 0.6, "candidates": [[0.0, 1.0], [0.6, 0.6]]}
    assert graded("steps", "<answer>122</answer>")["steps"] == [[0.0, 10], [1.0, 11]]
    assert graded("rubric", worked)["criteria"]["right"] == 1
    assert {graded("chance", f"<answer>{number}</answer>") for number in range(20)} == {0.0, 1.0}


def test_step_rewards_reach_the_estimator_where_they_end() -> None:
    reward = {"value": 0.0, "steps": [[0.0, 10], [1.0, 11]]}
    rows = [{"prompt_no": 0, "length": 21, "finish_reason": "stop", "rewards": [reward]}]
    made = _rows(rows)
    assert made.steps is not None
    assert made.steps.end.tolist() == [10, 11]
    assert made.lengths.tolist() == [21]


def test_results_are_plain_json() -> None:
    assert json.loads(results.PATH.read_text(encoding="utf-8"))["seeds"] == [0, 1, 2]
