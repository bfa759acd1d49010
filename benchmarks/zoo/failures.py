"""What users do wrong, as jobs of the starter model: the true cause, what a diagnosis should say, and since when.

Written without knowledge of the detectors.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from common.preset_jobs import NEEDS, group_of

from reinforge.diagnosis.finding import FindingCode
from reinforge.presets import merge
from zoo import rewards
from zoo.rewards import python

Onset = Literal["start", "accuracy_falls", "held_out_falls", "length_grows", "entropy_grows", "kl_grows"]
"""From the first step on, or from the step at which the harm can be measured (`zoo.truth`). A run in which that
never happens did not fail, and is not counted."""
RATE = 0.00125
"""What `auto` settles at for the starter model."""
COMPLETIONS = 64
Codes = tuple[FindingCode, ...]
JUDGE_PORT = 47613
"""Of the stub judge; a part of the job, so it has to be the same in every run."""


@dataclass(frozen=True, slots=True)
class Failure:
    name: str
    cause: str
    """What the user did."""
    codes: Codes
    """Findings that name this cause."""
    onset: Onset = "start"
    changes: dict[str, Any] = field(default_factory=dict)
    """To the healthy job."""
    train: str = "additions"
    held_out: str = "held-out"
    steps: int = 25
    constructed: bool = False
    """A series that was written, not measured: not seen on a real job."""

    def spec(self, data: Path) -> dict[str, Any]:
        return merge(base(data, self.train, self.held_out, self.steps), self.changes)


def base(data: Path, train: str = "additions", held_out: str = "held-out", steps: int = 25) -> dict[str, Any]:
    """The healthy job: from 0.6 to 0.9 in 25 steps."""
    return {
        "model": "starter-arith",
        "data": {
            "dataset": str(data / f"{train}.jsonl"),
            "held_out": str(data / f"{held_out}.jsonl"),
            "columns": {"answer": "answer"},
        },
        "rewards": [python("right", rewards.RIGHT)],
        "algorithm": {"preset": "grpo"},
        "rollout": {"prompts_per_step": 8, "completions_per_prompt": 8, "max_completion_tokens": 56},
        "adapter": {"rank": 16},
        "optimizer": {"learning_rate": "auto"},
        "evaluation": {"every_steps": 5, "rows": 48, "samples_per_row": 1},
        "limits": {"steps": steps, "checkpoint_every": 10},
    }


_WITH_PARTS = {"rewards": [python("right", rewards.RIGHT_WITH_PARTS)]}
_JOINT = {"norm_scope": "joint"}
_THIRD = {"optimizer": {"learning_rate": RATE / 3}}
HEALTHY: dict[str, dict[str, Any]] = {
    "pow3r": _WITH_PARTS,
    "vpo": _WITH_PARTS,
    "gtpo": {"algorithm": {"advantage": {"type": "gtpo"} | _JOINT}},
    "grpo_s": {"algorithm": {"advantage": {"type": "grpo_s"} | _JOINT}},
    "gfpo": _THIRD,
    "gfpo_adaptive": _THIRD,
    "passk_max": _THIRD,
}
"""What a preset needs to be healthy on these sums. As they are, the last five hurt the policy: right sums fell by 0.15
or more at some evaluation, and the diagnosis said so."""


def healthy(preset: str, data: Path) -> dict[str, Any]:
    """A preset's job with its slots as they are."""
    group = group_of(preset)
    needed, _ = NEEDS.get(preset, ({}, ""))
    needed = HEALTHY.get(preset, needed)
    own = {
        "data": {"dataset": str(data / "solutions" / "additions.jsonl")},
        "algorithm": {"preset": preset},
        "rollout": {"prompts_per_step": COMPLETIONS // group, "completions_per_prompt": group},
    }
    return merge(merge(base(data, steps=20), own), needed)


def only(*items: dict[str, Any]) -> dict[str, Any]:
    return {"rewards": list(items)}


def rate(value: float) -> dict[str, Any]:
    return {"optimizer": {"learning_rate": value}}


def rollout(**fields: Any) -> dict[str, Any]:
    return {"rollout": fields}


def joined(*changes: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for change in changes:
        result = merge(result, change)
    return result


NO_ANSWER_COLUMN = {"data": {"columns": {"answer": None}}}
JUDGED = {
    "type": "score_model", "name": "style", "model": "stub", "range": [0, 1],
    "input": [{"role": "user", "content": rewards.JUDGE}],
}  # fmt: skip
JUDGES = {"judges": {"stub": {"base_url": f"http://127.0.0.1:{JUDGE_PORT}/v1", "model": "stub"}}}
RIGHT = python("right", rewards.RIGHT)

UNREACHABLE: Codes = ("reward_unreachable", "groups_all_wrong")
ANSWERS: Codes = ("answers_disagree",)
OPTIMIZER = [
    Failure("learning-rate-30x", "learning rate 30 times too high", ("learning_rate_too_high",),
            "accuracy_falls", rate(30 * RATE)),
    Failure("learning-rate-8x", "learning rate 8 times too high", ("learning_rate_too_high",),
            "accuracy_falls", rate(8 * RATE), steps=30),
    Failure("learning-rate-too-low", "learning rate of a full fine-tuning, a thousandth of what LoRA needs",
            ("learning_rate_too_low", "signal_stalled"), changes=rate(1e-6)),
    Failure("updates-32", "32 updates with the completions of one step", ("ratio_blow_up",
            "learning_rate_too_high"), "accuracy_falls",
            joined({"algorithm": {"updates_per_step": 32}},
                   {"rollout": {"prompts_per_step": 32, "completions_per_prompt": 2}}), steps=20),
    Failure("no-kl-drift", "no KL penalty worth its name in a long run with a reward without signal",
            ("reference_drift", "learning_rate_too_high"), "kl_grows",
            joined(only(python("right", rewards.RANDOM)), rate(3 * RATE), NO_ANSWER_COLUMN,
                   {"algorithm": {"loss": {"kl": {"beta": 1e-5}}}}), steps=30),
    Failure("kl-too-strong", "KL penalty so strong that nothing can move", ("kl_too_strong", "signal_stalled",
            "learning_rate_too_low"), changes={"algorithm": {"loss": {"kl": {"beta": 10.0}}}}),
    Failure("entropy-blow-up", "entropy bonus of 0.5", ("entropy_blow_up",), "entropy_grows",
            {"algorithm": {"loss": {"entropy": {"type": "static", "coefficient": 0.5}}}}),
]  # fmt: skip

REWARDS = [
    Failure("reward-for-length", "a reward that pays for length", ("reward_follows_length",), "length_grows",
            only(python("thorough", rewards.LENGTH))),
    Failure("reward-for-shortness", "a reward that pays for short texts", ("reward_follows_length", "length_collapse"),
            changes=joined(only(python("short", rewards.SHORT)), NO_ANSWER_COLUMN)),
    Failure("reward-for-digits", "a reward that pays for digits", ("reward_follows_digits", "reward_follows_length"),
            changes=only(python("numbers", rewards.DIGITS))),
    Failure("reward-for-repetition", "a reward that pays for repetition",
            ("reward_follows_repetition", "reward_follows_length"), changes=only(python("fluent", rewards.REPETITION))),
    Failure("reward-for-format", "a reward that pays for the form of the answer only",
            ("reward_follows_format", "format_gaming", "answers_disagree"),
            changes=only(python("format", rewards.FORMAT))),
    Failure("reward-nobody-gets", "a reward that asks for a form the model never writes", UNREACHABLE,
            changes=only(python("exact", rewards.NOBODY)), steps=12),
    Failure("reward-everybody-gets", "a reward that every completion gets", ("reward_constant", "groups_all_equal"),
            changes=only(python("number", rewards.EVERYBODY)), steps=12),
    Failure("reward-random", "a reward without signal", ANSWERS, changes=only(python("quality", rewards.RANDOM))),
    Failure("reward-inverted", "right and wrong exchanged", ANSWERS, changes=only(python("correct", rewards.INVERTED))),
    Failure("reward-large-numbers", "a reward that pays for answers above 99", ANSWERS,
            changes=only(python("large", rewards.LARGE))),
    Failure("reward-constant", "a reward that pays for one constant answer, and in part for its zeros",
            ("answers_disagree", "reward_follows_digits", "reward_follows_repetition"),
            changes=only(python("hundred", rewards.CONSTANT))),
    Failure("one-reward-dominates", "a bonus for short texts on a scale 20 times that of correctness",
            ("reward_domination",), changes=only(RIGHT, python("short", rewards.SHORT))),
    Failure("witness-disagrees", "a reward of large numbers; one of weight 0 that counts right answers disagrees",
            ("witness_disagrees",),
            changes=joined(only(python("large", rewards.LARGE), RIGHT | {"weight": 0.0}), NO_ANSWER_COLUMN)),
    Failure("judge-disagrees", "a judge that likes quick answers; a rule disagrees", ("judge_disagrees",
            "witness_disagrees", "reward_follows_length"), steps=20,
            changes=joined(only(JUDGED, RIGHT | {"weight": 0.0}), JUDGES, NO_ANSWER_COLUMN)),
    Failure("reward-throws-sometimes", "a reward that raises on the tenth of rows that lack a column",
            ("reward_failing",), changes=only(python("right", rewards.THROWS.replace("LACKING", "1"))), steps=15),
    Failure("reward-throws-often", "a reward that raises on half of the rows", ("reward_failing",),
            changes=only(python("right", rewards.THROWS.replace("LACKING", "5"))), steps=15),
    Failure("reward-not-a-number", "a reward that is NaN for a tenth of the rows", ("reward_failing",),
            changes=only(python("right", rewards.NOT_A_NUMBER)), steps=15),
    Failure("reward-times-out", "a reward that loops for ever on a tenth of the rows", ("reward_failing",
            "reward_slow"), changes=only(python("right", rewards.TIMES_OUT, timeout_seconds=0.1)), steps=8),
    Failure("reward-slow", "a reward that takes 0.1 s per completion", ("reward_slow",),
            changes=joined(only(python("right", rewards.SLOW)), {"evaluation": {"every_steps": 10}}), steps=10),
]  # fmt: skip

DATA = [
    Failure("token-limit-8", "token limit below every answer", ("truncated", "all_truncated"),
            changes=rollout(max_completion_tokens=8), steps=12),
    Failure("token-limit-24", "token limit below every answer that is worked out", ("truncated", "all_truncated"),
            changes=rollout(max_completion_tokens=24)),
    Failure("held-out-copied", "held-out rows copied from the training rows", ("leakage",),
            held_out="held-out-copied", steps=15),
    Failure("two-prompts", "a data set of two prompts", ("no_generalization", "leakage"), "held_out_falls",
            train="two-prompts", steps=20),
    Failure("prompt-template", "prompts in the template of another model", UNREACHABLE,
            train="template", held_out="template-held-out", steps=15),
    Failure("rows-too-hard", "sums that the model cannot do", UNREACHABLE, train="large",
            held_out="large-held-out", steps=12),
    Failure("answers-shifted", "answers of the next row", UNREACHABLE, train="shifted",
            held_out="shifted-held-out", steps=15),
    Failure("temperature-zero", "temperature 0.01: all completions of a group are equal", ("groups_all_equal",),
            changes=rollout(temperature=0.01), steps=12),
    Failure("group-of-two", "two completions per prompt, on prompts that one of fifty solves",
            ("groups_all_equal", "groups_all_wrong", "signal_stalled", "reward_unreachable"),
            train="template", held_out="template-held-out",
            changes=rollout(prompts_per_step=16, completions_per_prompt=2), steps=20),
]  # fmt: skip

CONSTRUCTED = [
    Failure("sampler-mismatch", "a sampler at another temperature than the trainer believes", ("sampler_mismatch",),
            constructed=True),
]  # fmt: skip

REAL = [*REWARDS, *DATA, *OPTIMIZER]
ALL = [*REAL, *CONSTRUCTED]
