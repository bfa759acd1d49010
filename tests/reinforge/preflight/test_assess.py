"""The report: shares, costs, verdicts and suggestions from hand-made observations."""

from typing import Any

import pytest

from reinforge.errors import InvalidInput
from reinforge.preflight import Observed, ObservedCompletion, assess, observe, probe
from reinforge.records import RECORD
from reinforge.spec import JobSpec

STEP = {"time/step": 2.0, "time/generate": 1.0, "time/score": 0.1, "memory/peak": 3.0}


def job(**changes: Any) -> JobSpec:
    base: dict[str, Any] = {
        "model": "starter-arith",
        "data": {"dataset": "rows.jsonl"},
        "rewards": [{"name": "correct", "source": "def grade(sample, item): return 1.0"}],
        "rollout": {"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 100},
        "evaluation": {"rows": 8, "samples_per_row": 2, "every_steps": 10},
        "limits": {"steps": 20, "checkpoint_every": 10},
    }
    return JobSpec.model_validate(base | changes)


def group(
    *rewards: float | None, tokens: int = 50, truncated: bool = False, error: str | None = None
) -> list[ObservedCompletion]:
    return [
        ObservedCompletion(reward, tokens, truncated, error if reward is None else None, f"text {number}")
        for number, reward in enumerate(rewards)
    ]


def observed(groups: list[list[ObservedCompletion]], **changes: Any) -> Observed:
    facts = {"device": "cpu", "memory_gib": 1.0, "held_out_rows": 8}
    return Observed(groups=groups, steps=[STEP | {"time/step": 9.0}, dict(STEP), dict(STEP)], facts=facts,
                    load_seconds=5.0, save_seconds=0.5, **changes)  # fmt: skip


MIXED = [group(1, 0, 0, 1), group(1, 1, 0, 1), group(0, 0, 0, 1), group(1, 1, 1, 1)]


def codes(spec: JobSpec, groups: list[list[ObservedCompletion]]) -> list[tuple[str, str]]:
    report = assess(spec, observed(groups))
    return [(reason.code, reason.severity) for reason in report.reasons]


def test_shares_and_pass_rates_by_hand() -> None:
    report = assess(job(), observed(MIXED))
    assert report.verdict == "go"
    assert report.passes.histogram == [0, 1, 1, 1, 1]
    # Rows pass with 2/4, 3/4, 1/4, 4/4; at two: 1 - C(2,2)/C(4,2) = 5/6, 1, 1 - C(3,2)/C(4,2) = 1/2, 1.
    assert report.passes.pass_at == pytest.approx({1: 10 / 16, 2: (5 / 6 + 1 + 1 / 2 + 1) / 4, 4: 1.0})
    assert report.groups.model_dump() == {"all_right": 0.25, "all_wrong": 0.0, "mixed": 0.75, "useful": 0.75}
    assert report.useful_batch == 12
    assert report.reward_mean == pytest.approx(10 / 16)


def test_hours_count_steps_evaluations_checkpoints_and_loading() -> None:
    report = assess(job(), observed(MIXED))
    # Evaluations before, at 10 and after, of 16 completions each, as many as a step samples in 1 s and scores in 0.1.
    expected = 5.0 + 20 * 2.0 + 3 * 1.1 + 2 * 0.5
    assert report.hours.expected * 3600 == pytest.approx(expected)
    assert report.hours.high * 3600 == pytest.approx(5.0 + 1.0 + 2 * (20 * 2.0 + 3 * 1.1))
    assert report.seconds_per_step == 2.0


def test_hours_never_exceed_the_job_s_own_limit() -> None:
    limits = {"steps": 20, "checkpoint_every": 10, "max_seconds": 30}
    assert assess(job(limits=limits), observed(MIXED)).hours.high * 3600 == pytest.approx(30)


def test_fewer_held_out_rows_than_requested_make_shorter_evaluations() -> None:
    whole = assess(job(), observed(MIXED)).hours.expected
    few = observed(MIXED)
    few.facts["held_out_rows"] = 4
    half = assess(job(), few).hours.expected
    assert (whole - half) * 3600 == pytest.approx(3 * 1.1 / 2)


LONG_ONES_PAY = [[*group(1, tokens=80), *group(0, 0, 1, 0, tokens=20)] for _ in range(20)]
"""A fifth has 80 tokens and is always right; the rest has 20 and is right once in four: 32 tokens on average."""


def test_a_job_whose_longer_answers_pay_is_expected_to_get_longer() -> None:
    report = assess(job(), observed(LONG_ONES_PAY))
    grown = (1 + 80 / 32) / 2
    wider = (1 + grown) / 2
    # Scoring, 0.1 s of a step's 2, does not get longer with the answers.
    seconds = 5.0 + 1.0 + (20 * 2.0 + 3 * 1.1) * (1 + 0.95 * (wider - 1))
    assert report.hours.expected * 3600 == pytest.approx(seconds)
    assert report.hours.low < report.hours.expected < report.hours.high
    assert report.memory_gib.expected == pytest.approx(1.0 + 2.0 * wider)


def test_lengths_that_rewards_do_not_ask_for_stay() -> None:
    even = [[*group(1, 0, tokens=80), *group(1, 0, 1, 0, tokens=20)] for _ in range(20)]
    report = assess(job(), observed(even))
    assert report.hours.expected * 3600 == pytest.approx(5.0 + 1.0 + 20 * 2.0 + 3 * 1.1)
    assert report.memory_gib.expected == 3.0


def test_a_job_whose_shorter_answers_pay_is_expected_to_get_shorter_but_not_smaller() -> None:
    short = [[*group(0, 0, tokens=80), *group(1, 1, tokens=20)] for _ in range(20)]
    report = assess(job(), observed(short))
    assert report.hours.low == report.hours.expected < (5.0 + 1.0 + 20 * 2.0 + 3 * 1.1) / 3600
    assert report.memory_gib.expected == 3.0


def test_dynamic_sampling_pays_for_the_groups_it_leaves_out() -> None:
    spec = job(algorithm={"selection": {"type": "dynamic_sampling"}})
    plain = assess(job(), observed(MIXED))
    report = assess(spec, observed(MIXED))
    # 3 of 4 groups are useful: one of 4 prompts is missing after the first round, a quarter after the second, which is
    # none. A round of a quarter costs (1 + 1/4) / 2 of a whole one.
    now = 1 + (1 + 1 / 4) / 2
    # Of completions that pass nine times in ten 0.9⁴ + 0.1⁴ of the groups are useless: five rounds.
    useless = 0.9**4 + 0.1**4
    later = sum((1 + useless**number) / 2 for number in range(5))
    # Halfway on average; each further round costs the second of generation.
    rounds = (now + later) / 2
    assert (report.hours.expected - plain.hours.expected) * 3600 == pytest.approx(20 * (rounds - 1))
    assert (report.hours.low - plain.hours.low) * 3600 == pytest.approx(20 * (now - 1))
    assert report.useful_batch == 16


def test_memory_grows_with_the_part_that_steps_added() -> None:
    memory = assess(job(), observed(MIXED)).memory_gib
    assert (memory.expected, memory.high) == (3.0, pytest.approx(1.0 + 2.0 * 2))


@pytest.mark.parametrize(
    ("groups", "fault"),
    [
        ([group(0, 0, 0, 0)] * 20, ("never_right", "stop")),
        ([group(1, 1, 1, 1)] * 20, ("always_right", "stop")),
        ([group(1, 1, 1, 1)] * 8 + [group(0, 0, 0, 0)] * 8 + MIXED[:2], ("few_useful_groups", "caution")),
        ([group(1, 1, 1, 1)] * 10 + [group(0, 0, 0, 0)] * 10, ("few_useful_groups", "stop")),
        ([*MIXED, group(None, 1, 0, 1, error="exception")], ("reward_errors", "caution")),
        ([*MIXED, group(None, None, None, None, error="exception")] * 2 + [group(None, 1, error="timeout")],
         ("reward_errors", "stop")),
        ([group(1, 0, 1, 0, truncated=True, tokens=100)] * 4, ("truncated", "caution")),
    ],
)  # fmt: skip
def test_each_fault_has_its_reason(groups: list[list[ObservedCompletion]], fault: tuple[str, str]) -> None:
    assert fault in codes(job(), groups)


def test_graded_rewards_below_the_pass_mark_still_teach() -> None:
    groups = [group(0.1, 0.2, 0.3, 0.4)] * 10
    report = assess(job(), observed(groups))
    assert (report.groups.all_wrong, report.groups.useful, report.verdict) == (1.0, 1.0, "go")


def test_a_larger_group_is_suggested_where_it_helps() -> None:
    groups = [group(0, 0, 0, 0)] * 14 + [group(1, 0, 0, 0)] * 6
    report = assess(job(), observed(groups))
    (suggestion,) = [
        suggestion
        for suggestion in report.suggestions
        if suggestion.field == "rollout.completions_per_prompt"
    ]
    # A rate of 0.075 everywhere: 1 - 0.925^8 is 0.46, so eight do not suffice.
    assert (suggestion.value, suggestion.instead_of) == (16, 4)


def test_truncated_completions_ask_for_a_higher_limit() -> None:
    report = assess(job(), observed([group(1, 0, 1, 0, truncated=True, tokens=100)] * 4))
    assert [(suggestion.field, suggestion.value) for suggestion in report.suggestions] == [
        ("rollout.max_completion_tokens", 200)
    ]


def test_bases_with_spurious_gains_get_a_control() -> None:
    assert assess(job(), observed(MIXED)).notes == []
    (note,) = assess(job(model="Qwen2.5-Math-7B"), observed(MIXED)).notes
    assert "random" in note


def test_a_probe_without_a_step_is_no_report() -> None:
    with pytest.raises(InvalidInput) as refused:
        assess(job(), Observed())
    assert refused.value.code == "preflight_empty"


def test_the_probe_learns_nothing_and_hides_nothing() -> None:
    probe_job = probe(job(algorithm={"preset": "dapo"}))
    assert probe_job.algorithm.selection.type == "keep_all"
    assert probe_job.algorithm.loss.aggregation.type == "token_mean", "the other slots stay"
    assert probe_job.optimizer.learning_rate < 1e-9
    assert (probe_job.evaluation.rows, probe_job.limits.steps) == (0, 12)
    assert probe_job.limits.steps * probe_job.rollout.prompts_per_step >= 48
    assert probe_job.rollout == job().rollout


def test_records_become_groups_steps_and_times() -> None:
    row = {
        "prompt_hash": "a",
        "row_index": 0,
        "advantage": None,
        "length": 5,
        "finish_reason": "stop",
        "text": "x",
    }
    blob = {"sha256": "0" * 64, "bytes": 1}
    rows = [
        row | {"prompt_no": prompt, "sample_no": sample, "reward": 1.0}
        for prompt in (0, 1)
        for sample in (0, 1)
    ]
    listed = [
        {"kind": "started", "step": 0, "steps": 1, "facts": {"device": "cpu"}},
        {"kind": "rollouts", "step": 1, "split": "train", "blob": blob, "rows": rows},
        {"kind": "step_metrics", "step": 1, "values": {"time/step": 1.0}},
        {"kind": "phase", "phase": "saving", "step": 1},
        {"kind": "checkpoint_saved", "step": 1, "blob": blob, "held_out_reward": None},
    ]
    records = [
        RECORD.validate_python(record | {"sequence": n, "ts": 100.0 + n})
        for n, record in enumerate(listed, 1)
    ]
    observed = observe(records, launched=98.0)
    assert [len(group) for group in observed.groups] == [2, 2]
    assert (observed.load_seconds, observed.save_seconds, observed.facts) == (3.0, 1.0, {"device": "cpu"})


def test_with_one_completion_per_prompt_the_batch_is_compared() -> None:
    spec = job(
        algorithm={"preset": "reinforce_pp"},
        rollout={"prompts_per_step": 4, "completions_per_prompt": 1, "max_completion_tokens": 100},
    )
    report = assess(spec, observed([group(1), group(0), group(1), group(0)]))
    assert (report.verdict, report.groups.useful, report.useful_batch) == ("go", 1.0, 4)
    assert "never_right" in codes(spec, [group(0)] * 20)[0]


def test_the_attack_on_the_rewards_is_a_reason_or_a_note() -> None:
    observations = observed(MIXED)
    observations.facts["reward_attack"] = {
        "verdict": "broken",
        "message": "Reward 1 for nothing.",
        "fix": "Do.",
    }
    report = assess(job(), observations)
    [reason] = report.reasons
    assert (report.verdict, reason.code, reason.severity) == ("caution", "reward_broken", "caution")
    assert "Reward 1 for nothing." in reason.message
    assert reason.hint.startswith("Do.")
    observations.facts["reward_attack"] = {"verdict": "holds", "message": "No wrong one.", "fix": None}
    report = assess(job(), observations)
    assert (report.verdict, report.notes) == ("go", ["Attack on the rewards: No wrong one."])
