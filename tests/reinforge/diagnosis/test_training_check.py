"""The training check on curves given by formula, with the numbers of the rules' thresholds."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from reinforge.diagnosis.curve import step_since, trend_of
from reinforge.diagnosis.formats import format_number, format_percent
from reinforge.diagnosis.job_input import JobInput
from reinforge.diagnosis.training_check import Context, Observation, TrainingCheck, check_training
from reinforge.diagnosis.verdict import Outcome, Points

STEPS = 40
Shape = float | Callable[[int], float]


def job(shapes: dict[str, Shape], steps: int = STEPS) -> dict[str, Points]:
    """A job's curves by formula; those named `held_out/…` are measured every ten steps from 0."""
    series: dict[str, Points] = {}
    for key, shape in shapes.items():
        at = range(0, steps + 1, 10) if key.startswith("held_out/") else range(1, steps + 1)
        series[key] = [(step, shape(step) if callable(shape) else shape) for step in at]
    return series


def rising(start: float, end: float) -> Callable[[int], float]:
    return lambda step: start + (end - start) * step / STEPS


def wobble(around: float) -> Callable[[int], float]:
    return lambda step: around + 0.04 * math.sin(step * 2.1)


def first_steps(values: list[float], later: float) -> Callable[[int], float]:
    return lambda step: values[step - 1] if 0 < step <= len(values) else later


def check(
    shapes: dict[str, Shape], steps: int = STEPS, rows: int | None = None, **context: Any
) -> TrainingCheck:
    return check_training(JobInput(job(shapes, steps), held_out_rows=rows), Context(**context))


def codes(shapes: dict[str, Shape]) -> list[str]:
    return [item.code for item in check(shapes).observations]


def observation(shapes: dict[str, Shape], code: str) -> Observation:
    return next(item for item in check(shapes).observations if item.code == code)


HEALTHY: dict[str, Shape] = {
    "reward/mean": rising(0.4, 0.9),
    "reward/std": 0.4,
    "held_out/reward_mean": rising(0.42, 0.88),
    "held_out/reward_std_error": 0.02,
    "entropy/mean": rising(0.5, 0.2),
    "groups/zero_variance_share": 0.2,
    "groups/all_right_share": 0.15,
    "groups/all_wrong_share": 0.05,
    "completions/truncated_share": 0.01,
    "completions/length_mean": rising(30, 40),
    "reward/error_share": 0.0,
    "sampler/gap_mean": 1e-6,
}
DESTROYED: dict[str, Shape] = {
    "reward/mean": first_steps([0.5, 0.109], 0),
    "reward/std": first_steps([0.5, 0.3], 0),
    "held_out/reward_mean": lambda step: 0.51 if step == 0 else 0,
    "held_out/reward_std_error": lambda step: 0.055 if step == 0 else 0,
    "completions/truncated_share": first_steps([0, 0.266], 1),
    "groups/zero_variance_share": first_steps([0.1, 0.4], 1),
    "groups/all_wrong_share": first_steps([0, 0.4], 1),
    "entropy/mean": rising(0.08, 0.44),
    "optimizer/learning_rate": 0.02,
}
"""A real job whose learning rate of 0.02 destroyed the policy."""
LENGTH_PAID: dict[str, Shape] = {
    **HEALTHY,
    "held_out/reward_mean": rising(0.5, 0.93),
    "held_out/answer_share": lambda step: [0.53, 0.31, 0.02, 0.02, 0.02][step // 10],
    "held_out/answer_std_error": 0.05,
    "reward/length_correlation": 0.96,
    "groups/zero_variance_share": 0.94,
    "groups/all_right_share": 0.94,
    "completions/truncated_share": lambda step: 0.1 if step < 17 else 1,
}
"""A real job whose reward paid for length."""


def test_a_healthy_job_gets_a_yes_with_the_held_out_reward_and_no_advice() -> None:
    healthy = check(HEALTHY)
    assert healthy.state == "yes"
    assert "0.42 to 0.88" in healthy.message
    assert not [item for item in healthy.observations if item.severity in ("error", "warning")]
    assert healthy.summary.title == "No problems found"


def test_the_loss_is_always_explained_last() -> None:
    assert codes(HEALTHY)[-1] == "loss"
    assert codes({}) == ["loss"]
    assert check({}).state == "nothing"


def test_the_first_steps_are_not_judged_but_their_problems_are_named() -> None:
    early = check({**HEALTHY, "reward/error_share": 0.5}, steps=3)
    assert early.state == "early"
    assert early.observations[0].code == early.summary.code == "reward_failing"


def test_a_rise_within_the_noise_is_not_training() -> None:
    noisy = check({"reward/mean": wobble(0.5), "reward/std": 0.4})
    assert noisy.state == "unsure"
    assert "0.5" in noisy.message


def test_a_held_out_rise_that_may_be_chance_is_not_certain() -> None:
    shapes = HEALTHY | {"held_out/reward_mean": rising(0.42, 0.45), "held_out/reward_std_error": 0.05}
    assert check(shapes).state == "unsure"
    assert "no_generalization" in codes(shapes)


def test_few_held_out_rows_need_a_larger_change() -> None:
    shapes = HEALTHY | {"held_out/reward_mean": rising(0.42, 0.5), "held_out/reward_std_error": 0.025}
    assert check(shapes, rows=64).state == "yes"
    assert check(shapes, rows=6).state == "unsure"
    assert check(HEALTHY, rows=4).state == "unsure"


@pytest.mark.parametrize(("outcome", "praised"), [("learned", True), ("no_change", False)])
def test_nothing_is_praised_unless_the_verdict_is_learned(outcome: Outcome, praised: bool) -> None:
    reported = [item.code for item in check(HEALTHY, outcome=outcome).observations]
    assert ("held-out" in reported, "entropy" in reported) == (praised, praised)


def test_a_reward_that_is_the_same_for_everything_is_a_no_however_high() -> None:
    message = check({"reward/mean": 1, "reward/std": 0}).message
    assert message == "No: all completions score the same, so there is no training signal."


def test_missing_held_out_rows_are_named() -> None:
    training = {key: shape for key, shape in HEALTHY.items() if not key.startswith("held_out/")}
    assert check(training).state == "unsure"
    assert "there are no held-out rows" in check(training).message


def test_the_fall_of_a_destroyed_policy_comes_first_with_a_lower_learning_rate() -> None:
    destroyed = check(DESTROYED)
    assert destroyed.state == "no"
    assert destroyed.message == (
        "No: the learning rate of 0.02 destroyed the policy, held-out reward fell below base, from 0.51 to 0.00, "
        "100% of completions hit the token limit."
    )
    assert destroyed.observations[0].code == "learning_rate_too_high"
    assert destroyed.observations[0].hint == "Lower the learning rate to 0.002."
    others = destroyed.observations[1:]
    assert [item.hint for item in others if item.hint] == []
    assert "the checkpoint of step 0" not in destroyed.model_dump_json().lower()


def test_some_long_completions_at_the_start_are_not_the_cause_of_the_fall() -> None:
    shapes = DESTROYED | {"completions/truncated_share": first_steps([0.3, 0.75], 0.95)}
    assert check(shapes).observations[0].code == "learning_rate_too_high"
    assert "max_completion_tokens" not in check(shapes).model_dump_json()


def test_what_was_wrong_before_the_fall_keeps_its_advice() -> None:
    first = check(DESTROYED | {"completions/truncated_share": 1}).observations[0]
    assert first.code == "all_truncated"
    assert "max_completion_tokens" in (first.hint or "")


def test_a_reward_that_pays_for_length_is_not_praised() -> None:
    paid = check(LENGTH_PAID)
    assert paid.state == "unsure"
    assert paid.message == (
        "Cannot tell: reward follows length (r = 0.96), correct answers fell from 0.53 to 0.02, "
        "100% of completions hit the token limit."
    )
    assert codes(LENGTH_PAID)[:3] == ["reward_follows_length", "answers_disagree", "all_truncated"]
    assert not {"held-out", "entropy"} & set(codes(LENGTH_PAID))
    assert "this counts" not in paid.model_dump_json()


@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param({"completions/truncated_share": 1}, id="everything is truncated"),
        pytest.param({"reward/length_correlation": 0.8}, id="reward follows length"),
        pytest.param(
            {"held_out/answer_share": rising(0.5, 0.1), "held_out/answer_std_error": 0.02},
            id="the answers disagree",
        ),
        pytest.param({"held_out/reward_mean": rising(0.5, 0.47)}, id="held-out is below base"),
    ],
)
def test_never_yes_while_evidence_contradicts(shapes: dict[str, Shape]) -> None:
    doubtful = check({**HEALTHY, **shapes})
    assert doubtful.message.startswith(("Cannot tell: ", "No: "))
    assert doubtful.state != "yes"


def test_correct_answers_that_rose_count_more_than_the_length() -> None:
    answers: dict[str, Shape] = {"held_out/answer_share": rising(0.4, 0.9), "held_out/answer_std_error": 0.02}
    assert check({**HEALTHY, "reward/length_correlation": 0.8, **answers}).state == "yes"


def test_a_held_out_reward_past_its_best_is_noticed() -> None:
    def held(step: int) -> float:
        return 0.4 + step / 50 if step <= 20 else 0.8 - (step - 20) / 80

    assert "past_best" in codes({**HEALTHY, "held_out/reward_mean": held})


def test_solved_groups_differ_from_hopeless_ones_and_have_a_step() -> None:
    solved: dict[str, Shape] = {
        **HEALTHY,
        "groups/zero_variance_share": lambda step: 0.1 if step < 22 else 0.62,
        "groups/all_right_share": lambda step: 0.1 if step < 22 else 0.62,
    }
    equal = observation(solved, "groups_all_equal")
    assert (equal.step, equal.severity) == (22, "info")
    hopeless = {**HEALTHY, "groups/zero_variance_share": 0.8, "groups/all_wrong_share": 0.8}
    assert codes(hopeless)[0] == "groups_all_wrong"


def test_the_same_score_for_all_completions_is_a_no() -> None:
    flat = check({"reward/mean": 0, "reward/std": 0})
    assert (flat.state, flat.observations[0].code) == ("no", "reward_constant")


def test_a_falling_reward_is_a_no() -> None:
    assert check({"reward/mean": rising(0.8, 0.2), "reward/std": 0.4}).state == "no"


def test_collapsed_entropy_is_a_problem_only_while_there_is_much_to_learn() -> None:
    collapse: dict[str, Shape] = {"entropy/mean": rising(0.5, 0.001), "reward/std": 0.3}
    assert codes({**collapse, "reward/mean": wobble(0.4)})[0] == "entropy_collapse"
    assert "entropy_collapse" not in codes({**collapse, "reward/mean": rising(0.4, 1)})


@pytest.mark.parametrize(
    ("code", "shapes"),
    [
        ("truncated", {"completions/truncated_share": 0.4}),
        ("sampler_mismatch", {"sampler/gap_mean": 0.2}),
        ("ratio_blow_up", {"policy/clip_high_share": 0.5}),
        ("reward_failing", {"reward/error_share": 0.1}),
        ("entropy_blow_up", {"entropy/mean": rising(0.2, 2), "reward/mean": wobble(0.4)}),
    ],
)
def test_a_problem_has_evidence_and_advice(code: str, shapes: dict[str, Shape]) -> None:
    problem = observation({**HEALTHY, **shapes}, code)
    assert any(letter.isdigit() for letter in problem.message)
    assert problem.hint


def test_completions_that_grow_for_nothing_are_named() -> None:
    shapes: dict[str, Shape] = {"reward/mean": wobble(0.5), "reward/std": 0.4}
    shapes["completions/length_mean"] = rising(20, 80)
    assert "length_inflation" in codes(shapes)


@pytest.mark.parametrize(
    ("shapes", "context", "title"),
    [
        ({}, {}, "Waiting for the first step"),
        ({}, {"stopped": True}, "No finished step"),
        (HEALTHY, {"outcome": "no_change", "stopped": True}, "No improvement"),
        (HEALTHY, {"outcome": "unknown", "stopped": True}, "Not enough data"),
        (HEALTHY, {"outcome": "learned", "stopped": True}, "No problems found"),
    ],
)
def test_the_summary_of_a_job_without_problems(
    shapes: dict[str, Shape], context: dict[str, Any], title: str
) -> None:
    assert check(shapes, **context).summary.title == title


def test_the_summary_of_the_first_sound_steps() -> None:
    assert check(HEALTHY, steps=3).summary.title == "No problems so far"


def test_numbers_in_messages() -> None:
    values = (0.0, 0.953, 0.02, 30.5, 48.0, 12345.0, 2.1e-6)
    assert [format_number(value) for value in values] == [
        "0", "0.953", "0.02", "30.5", "48", "12,345", "2.1e-06",
    ]  # fmt: skip
    assert [format_percent(share) for share in (0.004, 0.62, 0.996, 1)] == ["<1%", "62%", ">99%", "100%"]


def test_trend_and_since_of_short_curves() -> None:
    assert trend_of([(1, 0.0), (2, 1.0)]) is None
    assert step_since([], lambda value: value > 0) is None
    assert step_since([(1, 1.0), (2, 0.0)], lambda value: value > 0) is None


def test_a_trend_starts_where_the_curve_started_however_fast_it_left() -> None:
    collapse = [(step, value) for step, value in enumerate([0.5, 0.04, *[0.0] * 58])]
    trend = trend_of(collapse)
    assert trend is not None
    assert (trend.start, trend.end, trend.direction) == (0.5, 0.0, "down")
