"""Suggested values by model, data, workers and pre-flight, each with its reason."""

from dataclasses import replace
from typing import Any

import pytest

from reinforge.job_defaults import JobDefault, JobSizes, MeasuredTexts, PreflightSizes, filled, job_defaults
from reinforge.preflight import PreflightReport, assess
from reinforge.preflight.observed import Observed, ObservedCompletion
from reinforge.spec import JobSpec

GPU = "cuda: NVIDIA H100"
RAW: dict[str, Any] = {
    "model": "m",
    "data": {"dataset": "rows.jsonl"},
    "rewards": [{"name": "right", "source": "def grade(sample, item): return 1.0"}],
}
SIZES = JobSizes(
    parameters=1_500_000_000,
    context=32_768,
    hidden_size=1536,
    rows=448,
    texts=MeasuredTexts(longest_prompt=200, longest_answer=5, counted=True),
    engine="vllm",
    devices=(GPU,),
)


def suggested(raw: dict[str, Any] | None = None, **sizes: Any) -> dict[str, JobDefault]:
    return {one.field: one for one in job_defaults(RAW | (raw or {}), replace(SIZES, **sizes))}


def values(raw: dict[str, Any] | None = None, **sizes: Any) -> tuple[Any, ...]:
    """Completion length, group size, prompts per step, steps."""
    defaults = suggested(raw, **sizes)
    assert all(one.reason.endswith((".", ";")) for one in defaults.values())
    rollout = ("max_completion_tokens", "completions_per_prompt", "prompts_per_step")
    return (*(defaults[f"rollout.{name}"].value for name in rollout), defaults["limits.steps"].value)


def measured(
    *rewards: tuple[float, ...], tokens: int = 200, cut: bool = False, **rollout: Any
) -> PreflightSizes:
    spec = JobSpec.model_validate(RAW | {"rollout": rollout})
    groups = [[ObservedCompletion(reward, tokens, cut, None, str(n)) for n, reward in enumerate(group)]
              for group in rewards]  # fmt: skip
    step = {"time/step": 2.0, "time/generate": 1.0, "memory/peak": 1.0}
    report: PreflightReport = assess(spec, Observed(groups=groups, steps=[dict(step), dict(step)]))
    return PreflightSizes("ftjob-1", spec, report)


def test_a_starting_point_for_a_common_job() -> None:
    assert values() == (1024, 8, 16, 100)
    engine = suggested()["rollout.engine"]
    assert (engine.value, engine.becomes, engine.basis) == ("auto", "vllm", "workers")
    assert suggested()["optimizer.learning_rate"].becomes == 1e-4


@pytest.mark.parametrize(
    ("sizes", "length", "basis"),
    [
        ({"parameters": 800_000}, 256, "model"),
        ({"parameters": 500_000_000}, 512, "model"),
        ({"devices": ("cpu",)}, 256, "workers"),
        ({"parameters": None}, 256, "general"),
        # Twice the longest answers, in multiples of 64.
        ({"texts": MeasuredTexts(200, 700, True)}, 1408, "data"),
        # What the longest prompt leaves of the context.
        ({"context": 512}, 312, "model"),
    ],
)
def test_completion_length(sizes: dict[str, Any], length: int, basis: str) -> None:
    default = suggested(**sizes)["rollout.max_completion_tokens"]
    assert (default.value, default.basis) == (length, basis)


def test_a_small_dataset_gets_fewer_prompts_larger_groups_and_fewer_steps() -> None:
    # 6 rows: 16 × 6 = 96 completions instead of 128; 20 passes of 1 step each, but at least 30.
    assert values(rows=6) == (1024, 16, 6, 30)
    # 54 rows: 20 × 54 / 16 steps.
    defaults = suggested(rows=54)
    assert defaults["limits.steps"].value == 67
    assert "each of the 54 rows 20 times" in defaults["limits.steps"].reason


def test_500_steps_bound_one_pass_through_a_large_dataset() -> None:
    assert values(rows=4000)[3] == 250
    assert suggested(rows=50_000)["limits.steps"].reason == "500 steps use 8,000 of the 50,000 rows."


def test_a_preflight_replaces_the_starting_points() -> None:
    enough = [(1.0, 0.0)] * 3 + [(1.0, 1.0)]
    after = suggested(preflight=measured(*enough, max_completion_tokens=300, completions_per_prompt=2))
    assert after["rollout.max_completion_tokens"].value == 300
    assert after["rollout.completions_per_prompt"].value == 2
    assert "75% of groups of 2" in after["rollout.completions_per_prompt"].reason
    cut = suggested(preflight=measured(*enough, max_completion_tokens=300, cut=True))
    assert cut["rollout.max_completion_tokens"].value == 600
    assert (
        cut["rollout.max_completion_tokens"].reason == "By the pre-flight: 100% of completions are cut off."
    )
    room = suggested(preflight=measured(*enough, max_completion_tokens=300, cut=True), context=512)
    assert room["rollout.max_completion_tokens"].value == 312


def test_few_useful_groups_suggest_more_steps_and_larger_groups() -> None:
    rare = measured(*[(1.0, 0.0)] * 2, *[(0.0, 0.0)] * 6, completions_per_prompt=2)
    defaults = suggested(preflight=rare, rows=2000)
    assert defaults["limits.steps"].value == 200
    assert defaults["limits.steps"].basis == "preflight"
    assert int(defaults["rollout.completions_per_prompt"].value) > 2
    assert suggested(preflight=rare, rows=54)["limits.steps"].value == 67, "rows still bound it"


def test_the_method_and_what_the_job_states_come_first() -> None:
    pairs = suggested({"algorithm": {"preset": "grpo_2"}}, preflight=measured((1.0, 0.0)))
    assert (pairs["rollout.completions_per_prompt"].value, pairs["rollout.completions_per_prompt"].basis) == (
        2, "method",
    )  # fmt: skip
    stated = {"rollout": {"prompts_per_step": 4}}
    assert values(stated, rows=448)[3] == 112, "steps fit the job's own prompts per step"
    job = filled(RAW | stated, suggested(stated).values())
    assert job["rollout"] == {
        "prompts_per_step": 4, "max_completion_tokens": 1024, "completions_per_prompt": 8,
    }  # fmt: skip
    assert job["limits"] == {"steps": 112}
    assert "optimizer" not in job, "auto is resolved when the job is created"


def test_engine_by_workers() -> None:
    engine = lambda **sizes: suggested(**sizes)["rollout.engine"]  # noqa: E731
    assert engine(engine="transformers", devices=("cpu",)).reason == "No online worker has a GPU."
    assert engine(engine="transformers", devices=()).becomes == "transformers"
    top_p = suggested({"rollout": {"top_p": 0.9}})["rollout.engine"]
    assert (top_p.becomes, top_p.reason) == (
        "transformers",
        "vLLM cannot sample with top_p 0.9 for training.",
    )


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 15, 16, 17, 100, 5_000_000])
@pytest.mark.parametrize("context", [None, 4, 128, 4096])
def test_every_suggestion_makes_a_valid_job(rows: int, context: int | None) -> None:
    for updates in (1, 12, 40):
        raw = RAW | {"algorithm": {"updates_per_step": updates}}
        JobSpec.model_validate(filled(raw, job_defaults(raw, replace(SIZES, rows=rows, context=context))))
