"""The attack of a pre-flight: the total of all rewards, of pre-flights alone, of code alone."""

from collections.abc import Callable
from typing import Any

from reinforge.dataset import PromptRow
from reinforge.preflight import probe
from reinforge.spec import JobSpec
from worker.rewards.sandboxed import CodeReward, SandboxedScorer
from worker.sandbox.outcome import CallOutcome, RewardRow, RowResult
from worker.training.attack import attack_facts

ROWS = [
    PromptRow(index, {"answer": str(answer)}, [{"role": "user", "content": f"{answer - 4}+4="}])
    for index, answer in enumerate((11, 23, 37, 45, 58, 60, 71, 89))
]
Grade = Callable[[str, str], float]


def spec_of(**weights: float) -> JobSpec:
    rewards = [{"name": name, "weight": weight, "source": name} for name, weight in weights.items()]
    return JobSpec.model_validate(
        {"model": "starter-arith", "data": {"dataset": "rows.jsonl"}, "rewards": rewards}
    )


def facts(spec: JobSpec, **grades: Grade) -> tuple[dict[str, Any], int]:
    """Facts, and how many completions were scored."""
    scored: list[str] = []

    def call(reward: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        scored.extend(row.completion for row in rows)
        grade = grades[reward.name]
        return CallOutcome("ok", [RowResult("ok", grade(row.completion, row.item["answer"])) for row in rows])

    rewards = [
        CodeReward(reward.name, reward.weight, "", f"{reward.name}@1", None, "sample", "batch", "drop", 2.0)
        for reward in spec.rewards
    ]
    scorer = SandboxedScorer(rewards, call, threads=2)
    try:
        return attack_facts(spec, scorer, ROWS), len(scored)
    finally:
        scorer.close()


def exact(text: str, answer: str) -> float:
    return float(text == answer)


def contained(text: str, answer: str) -> float:
    return float(answer in text)


def test_a_preflight_names_what_breaks_its_rewards() -> None:
    report, _ = facts(probe(spec_of(contained=1.0)), contained=contained)
    attack = report["reward_attack"]
    assert attack["verdict"] == "broken"
    assert "inside a longer word or number: 6 of 6 rows" in attack["message"]
    assert "substrings" in attack["fix"]
    report, _ = facts(probe(spec_of(exact=1.0)), exact=exact)
    assert (report["reward_attack"]["verdict"], report["reward_attack"]["fix"]) == ("holds", None)


def test_rewards_count_by_their_weights() -> None:
    for weight, verdict in ((0.1, "holds"), (2.0, "broken")):
        report, _ = facts(probe(spec_of(exact=1.0, contained=weight)), exact=exact, contained=contained)
        assert report["reward_attack"]["verdict"] == verdict


def test_other_jobs_and_rewards_that_are_no_code_are_not_attacked() -> None:
    assert facts(spec_of(exact=1.0), exact=exact) == ({}, 0)
    graded = spec_of(exact=1.0).model_dump(mode="json")
    graded["rewards"] = [
        {"type": "string_check", "name": "exact", "input": "{{ sample.output_text }}",
         "reference": "{{ item.answer }}", "operation": "eq"}
    ]  # fmt: skip
    assert facts(probe(JobSpec.model_validate(graded)), exact=exact) == ({}, 0)
