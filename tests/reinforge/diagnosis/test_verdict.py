"""The verdict on a job, from small series. The first two are real jobs that the page once misjudged."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reinforge.diagnosis.verdict import Evidence, HeldOutScore, Points, change_at, judge


def held(*values: float, error: float = 0.05, every: int = 10) -> list[HeldOutScore]:
    return [HeldOutScore(place * every, value, error) for place, value in enumerate(values)]


def steps(*values: float) -> Points:
    return list(enumerate(values, 1))


HEALTHY = Evidence(
    held_out=held(0.52, 0.80, 0.94),
    rows=64,
    reward=steps(0.5, 0.6, 0.7, 0.8, 0.9, 0.9),
    truncated=steps(*[0.02] * 6),
    errors=steps(*[0.0] * 6),
    length_correlation=steps(0.1, -0.2, 0.1, 0.0),
)
DESTROYED = Evidence(  # the demo's data with a learning rate of 0.02
    held_out=[HeldOutScore(0, 0.51, 0.055), *(HeldOutScore(step, 0.0, 0.0) for step in (10, 20, 30))],
    answers=[HeldOutScore(0, 0.51, 0.055), *(HeldOutScore(step, 0.0, 0.0) for step in (10, 20, 30))],
    rows=24,
    reward=steps(0.5, 0.109, *[0.0] * 28),
    truncated=steps(0.0, 0.266, *[1.0] * 28),
    errors=steps(*[0.0] * 30),
    length_correlation=steps(0.494, 0.042),
)
LENGTH_PAID = Evidence(  # the same data with a reward of characters / 150
    held_out=[HeldOutScore(0, 0.187, 0.009), *(HeldOutScore(step, 0.373, 0.0) for step in (10, 20, 30))],
    answers=[HeldOutScore(0, 0.53, 0.055), *(HeldOutScore(step, 0.02, 0.01) for step in (10, 20, 30))],
    rows=24,
    reward=steps(0.165, 0.184, 0.202, 0.22, 0.253, 0.281, 0.293, 0.305, 0.364, 0.366, *[0.373] * 20),
    truncated=steps(0.0, 0.008, 0.0, 0.0, 0.0, 0.0, 0.008, 0.031, 0.844, 0.969, *[1.0] * 20),
    errors=steps(*[0.0] * 30),
    length_correlation=steps(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.998, 1.0),
)


def codes(evidence: Evidence) -> list[str]:
    return [problem.code for problem in judge(evidence).problems]


def test_a_destroyed_policy_is_worse_than_the_base_and_its_truncation_comes_second() -> None:
    verdict = judge(DESTROYED)
    assert (verdict.outcome, verdict.note) == ("worse_than_base", "worse than base")
    assert verdict.message.startswith("No: held-out reward fell below the base by step 10 (0.51 → 0.00)")
    assert verdict.problems[0].code == "worse_than_base"
    assert verdict.message.index("fell below") < verdict.message.index("token limit")
    assert verdict.problems[0].step == 2, "the training reward left its start there"


def test_a_reward_that_pays_for_length_is_not_praised() -> None:
    verdict = judge(LENGTH_PAID)
    assert (verdict.outcome, verdict.note) == ("unknown", "cannot tell")
    assert verdict.message == (
        "Cannot tell: reward follows length (r = 1.00), 100% of completions hit the token limit since step 10, "
        "right answers fell from 0.53 to 0.02."
    )


def test_a_held_out_rise_beyond_chance_is_learning_with_its_interval() -> None:
    verdict = judge(HEALTHY)
    assert (verdict.outcome, verdict.note, verdict.problems) == ("learned", None, [])
    assert verdict.message.startswith("Yes: held-out reward 0.52 → 0.94 (+0.42, 95% interval +0.28 to +0.56")
    assert verdict.change is not None and verdict.change.value == pytest.approx(0.42)


@pytest.mark.parametrize("values", [(0.45, 0.45), (0.45, 0.5), (0.5, 0.45)])
def test_a_change_within_its_interval_is_none_with_enough_rows(values: tuple[float, float]) -> None:
    verdict = judge(replace(HEALTHY, held_out=held(*values)))
    assert (verdict.outcome, verdict.note) == ("no_change", "no change")
    assert verdict.message.startswith("No change beyond chance")


def test_nothing_at_all_is_no_change_even_on_few_rows() -> None:
    assert judge(replace(HEALTHY, held_out=held(0.0, 0.0, error=0.0), rows=6)).outcome == "no_change"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"held_out": []}, "no_held_out"),
        ({"held_out": held(0.5)}, "not_compared"),
        ({"start": 20}, "not_compared"),
        ({"rows": 3}, "few_rows"),
        ({"held_out": [HeldOutScore(0, 0.5), HeldOutScore(10, 0.9)]}, "few_rows"),
        ({"held_out": held(0.5, 0.55), "rows": 8}, "few_rows"),
    ],
)
def test_what_cannot_be_compared_is_unknown(changes: dict[str, object], code: str) -> None:
    verdict = judge(replace(HEALTHY, **changes))  # type: ignore[arg-type]
    assert (verdict.outcome, verdict.problems[0].code) == ("unknown", code)
    assert verdict.message.startswith("Cannot tell: ")
    assert verdict.note is None, "missing rows are no fault of the job"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"truncated": steps(*[1.0] * 6)}, "truncated"),
        ({"length_correlation": steps(0.8, 0.9, 0.8)}, "reward_follows_length"),
        ({"answers": held(0.5, 0.3, 0.1)}, "answers_disagree"),
        ({"answers": held(0.006, 0.01, 0.013, error=0.005)}, "answers_disagree"),
        ({"errors": steps(*[0.5] * 6)}, "reward_errors"),
    ],
)
def test_a_rise_is_no_proof_while_a_witness_contradicts_it(changes: dict[str, object], code: str) -> None:
    verdict = judge(replace(HEALTHY, **changes))  # type: ignore[arg-type]
    assert (verdict.outcome, codes(replace(HEALTHY, **changes))) == ("unknown", [code])  # type: ignore[arg-type]
    assert verdict.note is not None


def test_right_answers_that_rose_clear_a_reward_that_goes_with_length() -> None:
    longer = replace(HEALTHY, length_correlation=steps(0.8, 0.9, 0.8), answers=held(0.5, 0.7, 0.9))
    assert judge(longer).outcome == "learned"
    is_length = replace(longer, length_correlation=steps(1.0, 1.0, 1.0))
    assert judge(is_length).message == (
        "Cannot tell: reward follows length (r = 1.00) though right answers rose from 0.50 to 0.90."
    )


def test_answers_that_never_match_are_no_witness() -> None:
    assert judge(replace(HEALTHY, answers=held(0.0, 0.0, 0.0, error=0.0))).outcome == "learned"


def test_a_share_of_failed_rewards_is_named_beside_the_outcome() -> None:
    verdict = judge(replace(HEALTHY, errors=steps(0.0, 0.1, 0.1, 0.1, 0.1, 0.1)))
    assert (verdict.outcome, verdict.note) == ("learned", "rewards failed on 8%")
    assert verdict.message.endswith("; rewards failed on 8% of completions.")
    assert verdict.problems[0].step == 2


def test_a_gain_that_was_lost_again_names_its_step() -> None:
    verdict = judge(replace(HEALTHY, held_out=held(0.5, 0.9, 0.55)))
    assert (verdict.outcome, verdict.problems[0].code) == ("learned", "past_best")
    assert verdict.message.startswith("Yes, up to step 10: held-out reward 0.50 → 0.90")
    below = judge(replace(HEALTHY, held_out=held(0.5, 0.9, 0.2)))
    assert below.outcome == "worse_than_base" and "it was 0.90 at step 10" in below.message


def test_the_change_row_by_row_is_preferred_to_two_means() -> None:
    apart = replace(HEALTHY, held_out=held(0.45, 0.55, error=0.11), rows=20)
    assert judge(apart).outcome == "no_change"
    paired = replace(apart, paired={10: HeldOutScore(10, 0.1, 0.02)})
    assert judge(paired).outcome == "learned"
    change = change_at(paired, 10)
    assert change is not None and (change.low, change.high) == pytest.approx((0.058, 0.142), abs=0.001)


@pytest.mark.parametrize(("rows", "quantile"), [(5, 2.776), (10, 2.262), (20, 2.093), (200, 1.972)])
def test_the_interval_is_students(rows: int, quantile: float) -> None:
    change = change_at(
        Evidence(held_out=held(0, 1, error=0), paired={10: HeldOutScore(10, 1, 1)}, rows=rows), 10
    )
    assert change is not None
    assert change.high - change.value == pytest.approx(quantile, rel=0.02)


def test_whatever_the_series_it_never_says_yes_below_the_base() -> None:
    def check(values: Sequence[float], rows: int) -> None:
        verdict = judge(replace(HEALTHY, held_out=held(*values, error=0.01), rows=rows))
        if values[-1] < values[0]:
            assert verdict.outcome != "learned" and not verdict.message.startswith("Yes")

    for last in range(11):
        for middle in (0.0, 0.5, 1.0):
            for rows in (2, 8, 64):
                check((0.5, middle, last / 10), rows)


def test_a_step_without_an_evaluation_has_no_change() -> None:
    assert change_at(HEALTHY, 15) is None
    assert change_at(Evidence(), 0) is None
