"""Gradients that are not finite: skipped and reported; if there are no others, the job pauses."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from reinforge.errors import JobFailure
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Batch, LossFunction, LossValue, TokenScores
from worker.training.checkpoint.resume_state import NOT_FINITE_STEPS, pack_resume_state
from worker.training.job_end import end_of


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def break_updates(job: SmallJob, factors: Mapping[int, float]) -> None:
    """The loss of these updates, the first is 1, is multiplied by what is no number."""
    forward_backward, made = job.policy.forward_backward, 0

    def broken(batch: Batch, loss: LossFunction) -> Any:
        nonlocal made
        made += 1
        factor = factors.get(made, 1.0)

        def times(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
            value = loss(scores, tensors)
            return replace(value, total=value.total * factor)

        return forward_backward(batch, times)

    job.policy.forward_backward = broken  # type: ignore[method-assign]


def quick(**changes: Any) -> Any:
    return small_spec(evaluation__rows=0, **changes)


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_rare_updates_that_are_not_finite_are_skipped_and_reported(
    tmp_path: Path, model: Path, factor: float
) -> None:
    job = SmallJob(tmp_path, model, quick(limits__steps=6))
    break_updates(job, dict.fromkeys((2, 3, 5, 6), factor))  # never one more than may be in a row
    assert job.train().outcome == "succeeded"
    findings = [finding for finding in job.records("finding") if finding.code == "gradient_not_finite"]
    assert [(finding.step, finding.severity) for finding in findings] == [
        (step, "warning") for step in (2, 3, 5, 6)
    ]
    assert all(finding.evidence == {"skipped_updates": 1} and finding.hint for finding in findings)
    counted = [record.values["optimizer/skipped_updates"] for record in job.records("step_metrics")]
    assert counted == [0, 1, 2, 2, 3, 4]
    assert all(bool(torch.isfinite(tensor).all()) for tensor in job.policy.state().adapter.values())


def test_a_job_that_makes_no_update_any_more_pauses_and_goes_on_once_that_is_mended(
    tmp_path: Path, model: Path
) -> None:
    spec = quick(limits__steps=6)
    job = SmallJob(tmp_path / "a", model, spec)
    break_updates(job, dict.fromkeys(range(2, 7), float("nan")))
    with pytest.raises(JobFailure) as failure:
        job.train()
    end = end_of(failure.value)
    assert (end.outcome, end.reason) == ("paused", "gradient_not_finite")
    assert f"the last {NOT_FINITE_STEPS} steps" in (end.message or "")
    assert "learning_rate" in (end.hint or "") and "resume" in (end.hint or "")
    assert job.position.step == 1 + NOT_FINITE_STEPS, "the whole step is told"
    assert job.records("step_metrics")[-1].step == job.position.step

    state = pack_resume_state(job.position, job.policy.state())
    mended = SmallJob(tmp_path / "b", model, spec, resume=state)
    break_updates(mended, {1: float("nan")})  # a resumed job does not pause at the first
    assert mended.train().outcome == "succeeded"
    assert (mended.position.updates, mended.position.skipped_updates) == (2, NOT_FINITE_STEPS + 1)


def test_steps_in_a_row_are_counted_across_attempts(tmp_path: Path, model: Path) -> None:
    spec = quick(limits__steps=6, limits__checkpoint_every=2)
    job = SmallJob(tmp_path / "a", model, spec)
    break_updates(job, dict.fromkeys((1, 2), float("nan")))
    job.train()
    saved = next(record for record in job.records("resume_state_saved") if record.step == 2)
    rest = SmallJob(tmp_path / "b", model, spec, resume=job.blob(saved))
    break_updates(rest, {1: float("nan")})
    with pytest.raises(JobFailure, match="could be made"):
        rest.train()
    assert rest.position.step == 3
