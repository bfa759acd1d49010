"""Pausing a training loop: after the step under way, without an evaluation, and on to the same end."""

from pathlib import Path
from typing import Any

import pytest

from reinforge.records import Command
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, model: Path) -> SmallJob:
    job = SmallJob(tmp_path_factory.mktemp("finished"), model, small_spec())
    assert job.train().outcome == "succeeded"
    return job


def pause_when(job: SmallJob, phase: str, step: int) -> None:
    """The command arrives as soon as the phase of this step is reported."""
    report = job.reporter.report

    def watching(record: Any, **fields: Any) -> Any:
        made = report(record, **fields)
        if (fields.get("phase"), fields.get("step")) == (phase, step):
            job.reporter.receive(Command(id="cmd", kind="pause"))
        return made

    job.reporter.report = watching  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("phase", "step", "paused_after", "evaluated"),
    [
        ("generating", 3, 3, [0, 2]),
        ("updating", 2, 2, [0]),
        ("evaluating", 2, 2, [0]),
        ("updating", 4, 4, [0, 2]),
    ],
    ids=["within-a-step", "before-an-evaluation", "within-an-evaluation", "at-the-end"],
)
def test_a_pause_waits_for_the_step_and_for_no_evaluation(
    tmp_path: Path,
    model: Path,
    finished: SmallJob,
    phase: str,
    step: int,
    paused_after: int,
    evaluated: list[int],
) -> None:
    """And the next attempt makes what is missing and ends as if nothing had been."""
    job = SmallJob(tmp_path / "a", model, small_spec())
    pause_when(job, phase, step)
    outcome = job.train()
    assert (outcome.outcome, outcome.reason, job.position.step) == ("paused", "pause_requested", paused_after)
    assert [record.step for record in job.records("evaluated")] == evaluated
    state = job.records("resume_state_saved")[-1]
    assert state.step == paused_after
    rest = SmallJob(tmp_path / "b", model, small_spec(), resume=job.blob(state))
    assert rest.train().outcome == "succeeded"
    assert evaluated + [record.step for record in rest.records("evaluated")] == [0, 2, 4]
    assert rest.records("checkpoint_saved")[-1].blob == finished.records("checkpoint_saved")[-1].blob


def test_a_checkpoint_requested_with_the_pause_is_made(tmp_path: Path, model: Path) -> None:
    job = SmallJob(tmp_path, model, small_spec())
    pause_when(job, "generating", 3)
    receive = job.reporter.receive
    job.reporter.receive = lambda command: (  # type: ignore[method-assign]
        receive(Command(id="first", kind="checkpoint")),
        receive(command),
    )[-1]
    assert job.train().outcome == "paused"
    assert [record.step for record in job.records("checkpoint_saved")] == [2, 3]
