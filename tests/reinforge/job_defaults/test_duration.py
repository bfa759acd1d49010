"""The time before the start: measured, scaled to the job, or none."""

from typing import Any

import pytest

from reinforge.job_defaults.duration import EarlierJob, from_jobs, from_preflight
from reinforge.preflight.costs import Rounds
from reinforge.preflight.observed import Observed, ObservedCompletion
from reinforge.spec import JobSpec


def job(**changes: Any) -> JobSpec:
    base: dict[str, Any] = {
        "model": "m",
        "data": {"dataset": "rows.jsonl"},
        "rewards": [{"name": "right", "source": "def grade(sample, item): return 1.0"}],
        "rollout": {"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 100},
        "evaluation": {"rows": 8, "samples_per_row": 2, "every_steps": 10},
        "limits": {"steps": 20},
    }
    return JobSpec.model_validate(base | changes)


def earlier(id: str = "a", same_data: bool = True, **changes: Any) -> EarlierJob:
    values: dict[str, Any] = {
        "completions_per_step": 16, "step_seconds": [2.0, 2.0, 3.0], "sampling_seconds": 1.0, "tokens": 50.0,
        "load_seconds": 5.0, "device": "cpu",
    }  # fmt: skip
    return EarlierJob(id=id, same_data=same_data, **values | changes)


def test_no_measurement_no_estimate() -> None:
    assert from_jobs(job(), [], 8) is None
    assert from_jobs(job(), [earlier(step_seconds=[2.0, 2.0])], 8) is None, "two steps are too few"


def test_an_equal_job_by_hand() -> None:
    estimate = from_jobs(job(), [earlier()], 8)
    assert estimate is not None
    assert estimate.seconds_per_step.model_dump() == {"low": 2, "expected": 2, "high": 3}
    # 5 s to load, 20 steps, and 3 evaluations of 16 completions, which are a step's: 3 × 1 s.
    assert estimate.seconds.model_dump() == {"low": 48, "expected": 48, "high": 68}
    assert (estimate.ids, estimate.device) == (["a"], "cpu")
    assert estimate.reason.startswith("From 1 earlier job with m on this dataset")


def test_steps_scale_with_completions_and_tokens() -> None:
    double = job(rollout={"prompts_per_step": 8, "completions_per_prompt": 4, "max_completion_tokens": 100})
    estimate = from_jobs(double, [earlier()], 8)
    assert estimate is not None
    assert estimate.seconds_per_step.expected == 4
    # A lower limit cuts the earlier job's mean of 50 tokens to 25.
    short = job(rollout={"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 25})
    half = from_jobs(short, [earlier()], 8)
    assert half is not None
    assert half.seconds_per_step.expected == 1


def test_jobs_on_the_same_dataset_alone_if_there_are_any() -> None:
    both = from_jobs(job(), [earlier("other", False, step_seconds=[9.0] * 3), earlier("same")], 8)
    assert both is not None
    assert both.ids == ["same"]
    other = from_jobs(job(), [earlier("other", False)], 8)
    assert other is not None
    assert other.seconds_per_step.expected == 2
    assert "on other datasets" in other.reason


def test_a_time_limit_ends_it() -> None:
    estimate = from_jobs(job(limits={"steps": 20, "max_seconds": 50}), [earlier()], 8)
    assert estimate is not None
    assert estimate.seconds.model_dump() == {"low": 48, "expected": 48, "high": 50}


def test_the_preflight_scaled_to_other_steps_and_groups() -> None:
    step = {"time/step": 2.0, "time/generate": 1.0, "time/score": 0.0}
    groups = [[ObservedCompletion(1.0, 100, False, None, "x")] * 4]
    observed = Observed(groups=groups, steps=[step | {"time/step": 9.0}, dict(step), dict(step)],
                        facts={"device": "cpu", "held_out_rows": 8}, load_seconds=5.0)  # fmt: skip
    same = from_preflight("ftjob-1", job(), job(), observed, Rounds())
    assert same.seconds.expected == pytest.approx(5 + 20 * 2 + 3 * 1)
    double = job(rollout={"prompts_per_step": 8, "completions_per_prompt": 4, "max_completion_tokens": 100},
                 limits={"steps": 10})  # fmt: skip
    scaled = from_preflight("ftjob-1", double, job(), observed, Rounds())
    assert (scaled.seconds_per_step.expected, scaled.source, scaled.ids) == (4, "preflight", ["ftjob-1"])
    # Two evaluations of half a step's completions, at 2 s a step.
    assert scaled.seconds.expected == pytest.approx(5 + 10 * 4 + 2 * 1)
