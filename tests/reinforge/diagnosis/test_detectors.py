"""Each detector on curves by formula: silent on a healthy job, reported at the onset of its problem."""

import math
from collections.abc import Callable, Mapping
from typing import Any, get_args

import pytest

from reinforge.diagnosis import detectors
from reinforge.diagnosis.detectors import diagnose
from reinforge.diagnosis.finding import FindingCode, JobFinding
from reinforge.diagnosis.job_input import JobInput
from reinforge.diagnosis.texts import TEXTS

Shape = float | Callable[[int], float]
STEPS, ONSET = 60, 20
SPEC: dict[str, Any] = {
    "rewards": [{"name": "main", "type": "python", "weight": 1.0}],
    "rollout": {"prompts_per_step": 16, "completions_per_prompt": 8, "max_completion_tokens": 64},
    "optimizer": {"learning_rate": 0.001},
    "algorithm": {
        "updates_per_step": 1,
        "loss": {"aggregation": {"type": "seq_mean"}, "kl": {"beta": 0.0}, "surrogate": {"eps_high": 0.2}},
    },
    "evaluation": {"pass_above": 0.5},
    "data": {"dataset": "rows"},
}


def line(start: float, end: float) -> Callable[[int], float]:
    return lambda step: start + (end - start) * step / STEPS


def since(step: int, before: float, after: float) -> Callable[[int], float]:
    return lambda at: before if at < step else after


def ramp(step: int, before: float, after: float, width: int = 10) -> Callable[[int], float]:
    return lambda at: before + (after - before) * min(max((at - step) / width, 0.0), 1.0)


def noisy(shape: Callable[[int], float], size: float = 0.02) -> Callable[[int], float]:
    return lambda step: shape(step) + size * math.sin(step * 2.1)


HEALTHY: dict[str, Shape] = {
    "reward/mean": noisy(line(0.4, 0.85)),
    "reward/std": 0.4,
    "reward/error_share": 0.0,
    "held_out/reward_mean": line(0.42, 0.82),
    "held_out/reward_std_error": 0.02,
    "held_out/answer_share": line(0.42, 0.82),
    "held_out/answer_std_error": 0.02,
    "completions/answer_share": noisy(line(0.4, 0.85)),
    "reward/answer_correlation": 0.98,
    "reward/length_correlation": noisy(lambda step: 0.1),
    "reward/digit_correlation": 0.1,
    "reward/markup_correlation": 0.1,
    "reward/repetition_correlation": -0.2,
    "completions/digit_share": 0.3,
    "completions/markup_share": 0.1,
    "completions/repeated_share": 0.02,
    "completions/duplicate_share": line(0.2, 0.5),
    "completions/length_mean": noisy(line(20, 24)),
    "completions/length_right_mean": 20,
    "completions/length_wrong_mean": noisy(lambda step: 22, 1),
    "completions/truncated_share": 0.01,
    "groups/zero_variance_share": line(0.1, 0.4),
    "groups/all_right_share": line(0.05, 0.35),
    "groups/all_wrong_share": 0.05,
    "groups/equal_length_share": 0.1,
    "entropy/mean": line(0.6, 0.25),
    "kl/mean": line(0, 0.05),
    "policy/clip_high_share": 0.01,
    "policy/clip_low_share": 0.01,
    "policy/old_kl": 0.0,
    "optimizer/learning_rate": 0.001,
    "optimizer/skipped_updates": 0,
    "optimizer/grad_norm": 0.5,
    "sampler/gap_mean": 1e-6,
    "sampler/effective_share": 1.0,
    "advantage/zero_share": line(0.1, 0.4),
    "time/score": 0.1,
    "time/step": 2.0,
}
FLAT: dict[str, Shape] = {
    **HEALTHY,
    "reward/mean": noisy(lambda step: 0.4),
    "held_out/reward_mean": 0.42,
    "held_out/answer_share": 0.42,
    "completions/answer_share": 0.42,
    "entropy/mean": 0.6,
}


def diagnosed(shapes: Mapping[str, Shape], steps: int = STEPS, **more: Any) -> list[JobFinding]:
    series = {}
    for key, shape in shapes.items():
        at = range(0, steps + 1, 10) if key.startswith("held_out/") else range(1, steps + 1)
        series[key] = [(step, float(shape(step) if callable(shape) else shape)) for step in at]
    options: dict[str, Any] = {"spec": SPEC, "held_out_rows": 64, "auto_rate": 0.001, "starts": (10, 30)}
    return diagnose(JobInput(series, **(options | more)))


def spec(**parts: Any) -> dict[str, Any]:
    return SPEC | parts


REWARDS = [
    {"name": "main", "type": "python", "weight": 1.0},
    {"name": "judge", "type": "score_model", "weight": 1.0},
]
BONUS = {
    "updates_per_step": 1,
    "loss": {"entropy": {"type": "static", "coefficient": 0.1}, "kl": {"beta": 0.0}},
}
DESTROYED: dict[str, Shape] = {
    "reward/mean": since(ONSET, 0.45, 0.0),
    "reward/std": since(ONSET, 0.4, 0.0),
    "held_out/reward_mean": since(ONSET, 0.45, 0.0),
    "held_out/answer_share": since(ONSET, 0.45, 0.0),
    "completions/answer_share": since(ONSET, 0.45, 0.0),
    "entropy/mean": since(ONSET - 1, 0.5, 3.0),
    "completions/truncated_share": since(ONSET - 1, 0.02, 1.0),
    "completions/length_mean": since(ONSET - 1, 20, 64),
    "groups/zero_variance_share": since(ONSET, 0.1, 1.0),
    "groups/all_wrong_share": since(ONSET, 0.05, 1.0),
    "groups/all_right_share": 0.0,
    "optimizer/learning_rate": 0.02,
}
CASES: dict[str, tuple[dict[str, Shape], dict[str, Any], tuple[int, int]]] = {
    # code: curves, further input, bounds of its step
    "reward_failing": ({**FLAT, "reward/error_share": since(ONSET, 0, 0.4)}, {}, (ONSET, ONSET)),
    "leakage": (HEALTHY, {"leaked_rows": 20}, (0, 0)),
    "sampler_mismatch": ({**HEALTHY, "sampler/gap_mean": since(ONSET, 0, 0.2)}, {}, (ONSET, ONSET)),
    "learning_rate_too_high": ({**HEALTHY, **DESTROYED}, {}, (ONSET - 1, ONSET + 1)),
    "reward_follows_length": (
        {**HEALTHY, "reward/length_correlation": 0.9, "reward/answer_correlation": 0.1,
         "held_out/answer_share": 0.4}, {}, (1, 1)),
    "reward_follows_repetition": (
        {**HEALTHY, "reward/repetition_correlation": 0.9, "reward/answer_correlation": 0.1,
         "completions/repeated_share": line(0.02, 0.8), "held_out/answer_share": 0.4}, {}, (1, 1)),
    "reward_follows_digits": (
        {**HEALTHY, "reward/digit_correlation": 0.9, "reward/answer_correlation": 0.1,
         "completions/digit_share": line(0.3, 0.9), "held_out/answer_share": 0.4}, {}, (1, 1)),
    "reward_follows_format": (
        {**HEALTHY, "reward/markup_correlation": 0.9, "reward/answer_correlation": 0.1,
         "completions/markup_share": line(0.1, 0.6), "held_out/answer_share": 0.4}, {}, (1, 1)),
    "all_truncated": ({**FLAT, "completions/truncated_share": since(ONSET, 0.1, 0.99)}, {}, (ONSET, ONSET)),
    "truncated": ({**FLAT, "completions/truncated_share": since(ONSET, 0.1, 0.5)}, {}, (ONSET, ONSET)),
    "reward_unreachable": (
        {**FLAT, "reward/mean": 0.0, "reward/std": 0.0, "groups/all_wrong_share": 1.0, "groups/all_right_share": 0,
         "groups/zero_variance_share": 1.0, "held_out/reward_mean": 0.0}, {}, (1, 1)),
    "reward_constant": (
        {**FLAT, "reward/mean": 0.5, "reward/std": 0.0, "groups/all_right_share": 1.0}, {}, (1, 1)),
    "answers_disagree": (
        {**HEALTHY, "held_out/answer_share": ramp(ONSET, 0.5, 0.05), "reward/answer_correlation": 0.2},
        {}, (ONSET, ONSET + 20)),
    "witness_disagrees": (
        {**HEALTHY, "reward/witness/mean": noisy(ramp(ONSET, 0.6, 0.1, 30)),
         "reward/witness/advantage_correlation": -0.3},
        {"spec": spec(rewards=[REWARDS[0], {"name": "witness", "type": "python", "weight": 0.0}])},
        (1, ONSET + 10)),
    "judge_disagrees": (
        {**HEALTHY, "reward/main/mean": line(0.4, 0.2), "reward/judge/mean": line(0.4, 0.9),
         "reward/judge/others_correlation": -0.4},
        {"spec": spec(rewards=REWARDS)}, (1, 60)),
    "format_gaming": (
        {**HEALTHY, "reward/format/mean": line(0.5, 1.0), "reward/main/mean": ramp(ONSET, 0.5, 0.1)},
        {}, (1, ONSET + 5)),
    "equal_lengths": (
        {**HEALTHY, "groups/equal_length_share": since(ONSET, 0.1, 0.9),
         "completions/length_mean": since(ONSET, 20, 63), "completions/repeated_share": since(ONSET, 0.02, 0.8)},
        {}, (ONSET, ONSET)),
    "reward_hacking": (
        {**HEALTHY, "held_out/reward_mean": ramp(ONSET, 0.5, 0.1)}, {}, (ONSET, ONSET + 10)),
    "entropy_blow_up": (
        {**HEALTHY, "reward/mean": noisy(ramp(ONSET + 8, 0.45, 0.05)), "entropy/mean": ramp(ONSET, 0.5, 3.0)},
        {"spec": spec(algorithm=BONUS)}, (ONSET, ONSET + 5)),
    "entropy_collapse": (
        {**FLAT, "entropy/mean": ramp(ONSET, 0.6, 0.01), "completions/duplicate_share": ramp(ONSET, 0.1, 0.95)},
        {}, (ONSET, ONSET + 10)),
    "peak_then_collapse": (
        {**HEALTHY, "reward/mean": lambda step: 0.2 + 0.6 * min(step / 20, 1) if step < 35 else 0.3,
         "held_out/reward_mean": lambda step: 0.2 + 0.6 * min(step / 20, 1) if step < 35 else 0.3},
        {}, (34, 40)),
    "worse_than_base": (
        {**FLAT, "held_out/reward_mean": since(ONSET, 0.5, 0.3), "held_out/reward_std_error": 0.02},
        {}, (ONSET, ONSET)),
    "ratio_blow_up": ({**HEALTHY, "policy/clip_high_share": since(ONSET, 0.02, 0.4)}, {}, (ONSET, ONSET)),
    "reference_drift": ({**HEALTHY, "kl/mean": ramp(ONSET, 0.02, 3.0)}, {}, (ONSET, ONSET + 10)),
    "length_collapse": ({**FLAT, "completions/length_mean": since(ONSET, 20, 2)}, {}, (ONSET, ONSET)),
    "length_inflation": ({**FLAT, "completions/length_mean": ramp(ONSET, 20, 50)}, {}, (ONSET, ONSET + 10)),
    "length_bias": ({**FLAT, "completions/length_wrong_mean": noisy(ramp(ONSET, 20, 44), 1)}, {},
                    (ONSET, ONSET + 10)),
    "groups_all_wrong": (
        {**FLAT, "groups/all_wrong_share": since(ONSET, 0.2, 0.8), "groups/all_right_share": 0}, {}, (ONSET, ONSET)),
    "groups_all_equal": ({**FLAT, "groups/all_right_share": 0.8}, {}, (1, 1)),
    "signal_stalled": ({**FLAT, "advantage/zero_share": since(ONSET, 0.3, 1.0)}, {}, (ONSET, ONSET)),
    "learning_rate_too_low": ({**FLAT, "optimizer/learning_rate": 1e-5}, {}, (1, 1)),
    "past_best": (
        {**HEALTHY, "held_out/reward_mean": lambda step: 0.4 + step / 50 if step <= 20 else 0.8 - (step - 20) / 100},
        {}, (30, 30)),
    "no_generalization": ({**HEALTHY, "held_out/reward_mean": 0.42}, {}, (60, 60)),
    "domain_interference": (
        {**HEALTHY, "held_out/slice/easy/reward_mean": line(0.5, 0.95),
         "held_out/slice/hard/reward_mean": ramp(ONSET, 0.5, 0.2, 20)}, {}, (0, 20)),
    "reward_domination": (
        {**HEALTHY, "reward/main/advantage_correlation": 0.98, "reward/judge/advantage_correlation": 0.05},
        {"spec": spec(rewards=REWARDS)}, (1, 1)),
    "kl_too_strong": (
        {**FLAT, "kl/mean": 0.002}, {"spec": spec(algorithm={"loss": {"kl": {"beta": 10.0}}})}, (1, 1)),
    "reward_labels_collapsed": ({**HEALTHY, "reward/judge/label/neutral": 0.97}, {}, (1, 1)),
    "rubric_saturated": (
        {**FLAT, "reward/main/part/a": 0.99, "reward/main/part/b": 0.0, "reward/main/part/c": 0.4}, {}, (1, 1)),
    "reward_slow": ({**HEALTHY, "time/score": since(ONSET, 0.5, 8), "time/step": since(ONSET, 2, 10)}, {},
                    (ONSET, ONSET)),
    "one_sided_groups": ({**HEALTHY, "advantage/lone_side_share": since(ONSET, 0.1, 0.6)}, {}, (ONSET, ONSET)),
    "tool_calls_fail": ({**HEALTHY, "tools/invalid_share": since(ONSET, 0.02, 0.3), "tools/failure_share": 0.15}, {},
                        (ONSET, ONSET)),
    "tools_abandoned": ({**FLAT, "tools/calls_per_rollout": ramp(ONSET, 1.5, 0.05)}, {}, (ONSET, ONSET + 10)),
    "tools_do_not_help": ({**FLAT, "tools/use_share": 0.5, "tools/all_wrong_share": since(ONSET, 0.1, 0.6)}, {},
                          (ONSET, ONSET)),
    "policy_gives_up": ({**FLAT, "completions/off_language_share": since(ONSET, 0.0, 0.2),
                         "tools/calls_per_rollout": ramp(ONSET, 1.5, 0.05)}, {}, (ONSET, ONSET + 10)),
    "no_repeated_states": ({**HEALTHY, "advantage/visits_per_state": 1.1}, {}, (1, 1)),
}  # fmt: skip
BY_TRAINER = {"gradient_not_finite"}


def test_every_code_has_a_text_and_a_case() -> None:
    codes = set(get_args(FindingCode))
    assert set(TEXTS) == codes
    assert set(CASES) == codes - BY_TRAINER


@pytest.mark.parametrize("steps", [3, 12, 30, STEPS])
def test_a_healthy_job_has_no_finding(steps: int) -> None:
    assert [finding.code for finding in diagnosed(HEALTHY, steps)] == []


def test_a_job_that_solved_its_task_has_only_a_note() -> None:
    solved = {
        **HEALTHY,
        "reward/mean": noisy(ramp(5, 0.4, 0.97, 20), 0.005),
        "held_out/reward_mean": ramp(5, 0.42, 0.96, 20),
        "held_out/answer_share": ramp(5, 0.42, 0.96, 20),
        "groups/zero_variance_share": ramp(5, 0.1, 0.9, 20),
        "groups/all_right_share": ramp(5, 0.05, 0.9, 20),
        "entropy/mean": ramp(5, 0.6, 0.03, 20),
        "completions/duplicate_share": ramp(5, 0.1, 0.9, 20),
        "advantage/zero_share": ramp(5, 0.1, 0.9, 20),
    }
    assert [(item.code, item.severity) for item in diagnosed(solved)] == [("groups_all_equal", "info")]


@pytest.mark.parametrize("code", CASES)
def test_a_problem_is_reported_first_and_at_its_onset(code: str) -> None:
    shapes, more, (low, high) = CASES[code]
    findings = diagnosed(shapes, **more)
    first = findings[0]
    assert first.code == code, [item.code for item in findings]
    assert low <= first.step <= high
    assert first.message.endswith(".") and first.why.endswith(".") and first.cause is None
    assert first.evidence.numbers
    assert all(chart.from_step <= chart.to_step for chart in first.evidence.charts)
    if first.severity == "error":
        assert first.advice


@pytest.mark.parametrize("code", CASES)
def test_a_problem_that_began_later_is_not_reported_before(code: str) -> None:
    shapes, more, (low, _) = CASES[code]
    if low >= ONSET and code not in ("past_best", "no_generalization"):
        assert code not in [item.code for item in diagnosed(shapes, ONSET - 2, **more)]


def test_what_broke_first_is_the_cause_and_what_follows_has_no_remedies() -> None:
    findings = diagnosed({**HEALTHY, **DESTROYED})
    first, rest = findings[0], [item for item in findings[1:] if item.severity != "info"]
    assert first.code == "learning_rate_too_high"
    followed = {"all_truncated", "entropy_blow_up", "worse_than_base", "groups_all_wrong", "reward_constant"}
    assert followed <= {item.code for item in rest}
    assert {item.cause for item in rest} == {"learning_rate_too_high"}
    assert all(not item.remedies and item.advice is None for item in rest)


def test_truncation_from_the_first_step_is_no_consequence_of_a_later_fall() -> None:
    findings = diagnosed({**HEALTHY, **DESTROYED, "completions/truncated_share": 1.0})
    assert findings[0].code == "all_truncated" and findings[0].remedies


def test_a_policy_that_falls_before_its_sampler_disagrees_has_one_cause() -> None:
    late = diagnosed({**HEALTHY, **DESTROYED, "sampler/gap_mean": since(ONSET + 5, 0, 0.3)})
    early = diagnosed({**HEALTHY, **DESTROYED, "sampler/gap_mean": since(3, 0, 0.3)})
    assert (late[0].code, early[0].code) == ("learning_rate_too_high", "sampler_mismatch")


def test_completions_sampled_ahead_may_differ_by_an_update() -> None:
    ahead = spec(rollout={"ahead": 1})
    for gap, codes in ((0.05, []), (0.2, ["sampler_mismatch"])):
        shapes = {**HEALTHY, "sampler/gap_mean": gap, "sampler/effective_share": 0.8}
        assert [item.code for item in diagnosed(shapes, spec=ahead)] == codes
    assert diagnosed({**HEALTHY, "sampler/gap_mean": 0.05})[0].code == "sampler_mismatch"


def test_an_entropy_bonus_that_made_the_policy_random_is_named_instead_of_the_rate() -> None:
    shapes, more, _ = CASES["entropy_blow_up"]
    first = diagnosed(shapes, **more)[0]
    assert first.remedies[0].set == {"algorithm.loss.entropy": {"type": "none"}}


def test_remedies_continue_from_before_the_problem() -> None:
    [fork, take] = diagnosed({**HEALTHY, **DESTROYED}, best_step=10)[0].remedies
    assert (fork.kind, fork.step, fork.set) == ("fork", 10, {"optimizer.learning_rate": 0.001})
    assert (take.kind, take.step) == ("stop_and_take", 10)
    from_base = diagnosed({**HEALTHY, **DESTROYED}, starts=())[0].remedies[0]
    assert (from_base.step, from_base.label) == (0, "Continue with learning rate 0.001, from the base")


def test_a_live_remedy_is_for_running_jobs() -> None:
    shapes, more, _ = CASES["learning_rate_too_low"]
    kinds = [
        [item.kind for item in diagnosed(shapes, ended=ended, **more)[0].remedies] for ended in (False, True)
    ]
    assert kinds == [["apply_live", "fork"], ["fork"]]


@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param({"reward/length_correlation": 0.8}, id="right answers are longer"),
        pytest.param({"reward/digit_correlation": 0.9, "reward/answer_correlation": 0.1}, id="digits do not grow"),
        pytest.param({"entropy/mean": line(0.6, 0.05)}, id="entropy falls while the reward rises"),
        pytest.param({"groups/all_right_share": line(0, 0.9)}, id="solved"),
        pytest.param({"reward/mean": noisy(line(0.4, 0.85), 0.1)}, id="noise"),
        pytest.param({"completions/length_mean": line(20, 60)}, id="longer and better"),
        pytest.param({"time/score": 0.6, "time/step": 1.0}, id="a short step is mostly scoring"),
    ],
)  # fmt: skip
def test_what_belongs_to_learning_is_no_problem(shapes: dict[str, Shape]) -> None:
    assert [item.code for item in diagnosed({**HEALTHY, **shapes}) if item.severity != "info"] == []


def test_a_job_whose_rewards_are_nearly_all_missing_is_diagnosed() -> None:
    findings = diagnosed({**HEALTHY, "reward/error_share": 0.9, "entropy/mean": ramp(5, 0.5, 3.0)}, steps=12)
    assert findings[0].code == "reward_failing"
    series = {"entropy/mean": [(step, 0.5 + step) for step in range(1, 12)], "reward/mean": [(1, 0.4)]}
    assert diagnose(JobInput(series, spec=SPEC, held_out_rows=64))  # type: ignore[arg-type]


def test_a_faulty_detector_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(job: JobInput) -> JobFinding | None:
        raise IndexError

    monkeypatch.setattr(detectors, "DETECTORS", (faulty, *detectors.DETECTORS))
    assert diagnosed(*[CASES["reward_failing"][0]])[0].code == "reward_failing"


def test_kl_is_raised_where_it_acts_and_never_lowered() -> None:
    algorithm = SPEC["algorithm"] | {"shaping": {"kl": {"beta": 0.05}}}
    shapes, more, _ = CASES["reference_drift"]
    (live, forked, *_) = diagnosed(shapes, **(more | {"spec": spec(algorithm=algorithm)}))[0].remedies
    assert live.set == forked.set == {"algorithm.shaping.kl.beta": 0.2}
    shapes, more, _ = CASES["entropy_collapse"]
    (forked, *_) = diagnosed(shapes, **(more | {"spec": spec(algorithm=algorithm)}))[0].remedies
    assert forked.set["algorithm.shaping.kl.beta"] == 0.05


def test_a_reward_that_is_in_doubt_does_not_choose_the_checkpoint() -> None:
    """The best step by a hacked reward is the worst."""
    shapes = {
        **CASES["reward_follows_length"][0],
        "held_out/answer_share": lambda step: 0.42 + (step == 10) * 0.2,
    }
    (fork, take) = diagnosed(shapes, best_step=60, checkpoints=(10, 60))[0].remedies
    assert (take.kind, take.step) == ("stop_and_take", 10)
    assert diagnosed(shapes, best_step=60, checkpoints=(60,))[0].remedies == [fork]
    shapes["held_out/answer_share"] = line(0.42, 0.1)
    assert diagnosed(shapes, best_step=60, checkpoints=(10, 60))[0].remedies == [fork]
    assert (fork.kind, fork.step, list(fork.set)) == ("fork", 0, ["rewards"])


def test_a_reward_that_follows_length_is_replaced_by_what_the_data_or_a_witness_says() -> None:
    shapes, more, _ = CASES["reward_follows_length"]
    (answers,) = diagnosed(shapes, **more)[0].remedies
    (reward,) = answers.set["rewards"]
    assert (answers.step, reward["type"], reward["name"]) == (0, "python", "answer")
    undeclared = {key: shape for key, shape in shapes.items() if "answer" not in key}
    assert diagnosed(undeclared, **more)[0].remedies == []
    witnessed, more, _ = CASES["witness_disagrees"]
    trusted = diagnosed(undeclared | {key: witnessed[key] for key in witnessed if "witness" in key}, **more)[
        0
    ]
    assert trusted.remedies[0].set == {"rewards": [{"name": "witness", "type": "python", "weight": 1.0}]}


def test_short_completions_that_get_more_are_a_problem_only_of_graded_rewards() -> None:
    shapes = {
        **HEALTHY,
        "reward/length_correlation": -0.99,
        "reward/answer_correlation": 0.2,
        "held_out/answer_share": 0.4,
    }
    graded = {"reward/p10": 0.1, "reward/p90": 0.9, "reward/std": 0.1}
    pass_or_fail = {"reward/p10": 0.0, "reward/p90": 1.0, "reward/std": 0.49}
    assert diagnosed({**shapes, **graded})[0].code == "reward_follows_length"
    assert "reward_follows_length" not in [item.code for item in diagnosed({**shapes, **pass_or_fail})]


def test_memorized_rows_are_no_hacked_reward() -> None:
    shapes, more, _ = CASES["reward_hacking"]
    many = diagnosed(shapes, training_prompts=5000, **more)
    few = diagnosed({**shapes, "held_out/answer_share": ramp(ONSET, 0.5, 0.1)}, training_prompts=2, **more)
    assert (many[0].code, few[0].code, few[0].severity) == ("reward_hacking", "no_generalization", "error")
    assert {"reward_hacking", "answers_disagree"}.isdisjoint(item.code for item in few)


def test_a_domination_that_has_ended_is_reported_until_the_other_reward_is_back() -> None:
    shapes = {
        **HEALTHY,
        "reward/main/advantage_correlation": since(5, 0.95, 0.1),
        "reward/judge/advantage_correlation": since(5, 0.05, 0.8),
    }
    for end, reported in ((0.1, True), (0.9, False)):
        findings = diagnosed({**shapes, "reward/judge/mean": line(0.5, end)}, spec=spec(rewards=REWARDS))
        assert ("reward_domination" in [item.code for item in findings]) is reported
    small = [REWARDS[0], REWARDS[1] | {"weight": 0.01}]
    assert diagnosed({**shapes, "reward/judge/mean": line(0.5, 0.1)}, spec=spec(rewards=small)) == []


def test_more_completions_are_proposed_only_where_some_are_rewarded() -> None:
    shapes, more, _ = CASES["groups_all_wrong"]
    unpaid = {key: shape for key, shape in shapes.items() if "answer" not in key}
    (remedy,) = diagnosed(unpaid, **more)[0].remedies
    assert remedy.set["rollout.completions_per_prompt"] == 16  # 0.6 of groups of 8: 0.6² of groups of 16
    assert diagnosed({**unpaid, "groups/all_wrong_share": 1.0}, **more)[0].remedies == []


def test_a_usual_rate_applied_too_often_needs_fewer_updates() -> None:
    shapes = {**HEALTHY, **DESTROYED, "optimizer/learning_rate": 0.001}
    often = spec(algorithm=SPEC["algorithm"] | {"updates_per_step": 32})
    assert diagnosed(shapes, spec=often)[0].remedies[0].set == {"algorithm.updates_per_step": 4}


def test_held_out_rows_that_leak_are_replaced() -> None:
    shapes, more, _ = CASES["leakage"]
    own = spec(data={"dataset": "rows", "held_out": "others"})
    sets = [diagnosed(shapes, **(more | {"spec": declared}))[0].remedies[0].set for declared in (SPEC, own)]
    replaced = {"data.split_by": "prompt", "data.held_out": None, "data.held_out_rows": 64}
    assert sets == [{"data.split_by": "prompt"}, replaced]


def test_a_limit_that_truncates_all_is_raised_far_and_within_the_context() -> None:
    shapes, more, _ = CASES["all_truncated"]
    roomy = SPEC["rollout"] | {"max_prompt_tokens": 1000}
    narrow = SPEC["rollout"] | {"max_prompt_tokens": 100}
    full = SPEC["rollout"] | {"max_prompt_tokens": 50}
    limits = [
        [item.set for item in diagnosed(shapes, **(more | {"spec": spec(rollout=rollout)}))[0].remedies]
        for rollout in (roomy, narrow, full)
    ]
    path = "rollout.max_completion_tokens"
    assert limits == [[{path: 512}], [{path: 82}], []]


def test_equal_groups_at_a_low_temperature_need_a_higher_one() -> None:
    shapes, more, _ = CASES["groups_all_equal"]
    cold = spec(rollout=SPEC["rollout"] | {"temperature": 0.01})
    (remedy,) = diagnosed(shapes, **(more | {"spec": cold}))[0].remedies
    assert remedy.set == {"rollout.temperature": 1.0}
