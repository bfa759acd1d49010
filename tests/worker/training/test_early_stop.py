"""Jobs that end before their last step, at the same step after a resume, with a checkpoint and a reason."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from reinforge.records import Command
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.sandbox.outcome import RewardRow
from worker.training.checkpoint.resume_state import Position
from worker.training.early_stop import ending, note_evaluation, note_step


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def always_one(row: RewardRow) -> float:
    return 1.0


def stopping(**early_stop: Any) -> Any:
    return small_spec(limits={"steps": 50, "checkpoint_every": 2, "early_stop": early_stop})


@pytest.mark.parametrize(
    ("early_stop", "reason", "step"),
    [
        # Held-out rewards at steps 0, 2, 4, 6: the first is the best, the next three are no better.
        ({"patience": 3}, "held_out_flat", 6),
        ({"no_signal_steps": 5}, "no_signal", 5),
        ({"patience": 1, "no_signal_steps": 5}, "held_out_flat", 2),
    ],
    ids=["held-out", "no-signal", "what-comes-first"],
)
def test_a_job_that_learns_nothing_ends_with_a_name_and_a_checkpoint(
    tmp_path: Path, model: Path, early_stop: dict[str, Any], reason: str, step: int
) -> None:
    job = SmallJob(tmp_path, model, stopping(**early_stop), grade=always_one)
    outcome = job.train()
    assert (outcome.outcome, outcome.reason, job.position.step) == ("succeeded", reason, step)
    last = job.records("checkpoint_saved")[-1]
    assert (last.step, last.final, last.held_out_reward) == (step, True, 1.0)


def test_a_resumed_job_ends_at_the_same_step(tmp_path: Path, model: Path) -> None:
    spec = stopping(patience=3, no_signal_steps=40)
    job = SmallJob(tmp_path / "a", model, spec, grade=always_one)
    report = job.reporter.metrics

    def metrics(step: int, kind: Any, values: Any) -> None:
        report(step, kind, values)
        if (step, kind) == (3, "train"):
            job.reporter.receive(Command(id="cmd", kind="pause"))

    job.reporter.metrics = metrics  # type: ignore[method-assign]
    assert job.train().outcome == "paused"
    state = job.blob(job.records("resume_state_saved")[-1])
    rest = SmallJob(tmp_path / "b", model, spec, grade=always_one, resume=state)
    outcome = rest.train()
    assert (outcome.reason, rest.position.step) == ("held_out_flat", 6)


def test_a_gain_below_min_delta_does_not_count() -> None:
    spec, position = stopping(patience=2, min_delta=0.1), Position(step=1)
    for reward in (0.5, 0.55, None, 0.65, 0.7):
        note_evaluation(spec, position, reward)
    assert (position.best_held_out, position.stale_evaluations) == (0.65, 1)
    assert ending(spec, position, out_of_time=False) is None
    note_evaluation(spec, position, 0.75)
    assert ending(spec, position, out_of_time=False) == "held_out_flat"


def test_useless_groups_are_averaged_over_the_newest_steps() -> None:
    spec, position = stopping(no_signal_steps=4, no_signal_share=0.75), Position(step=1)
    for share in (0.0, 1.0, 1.0, 0.5):
        note_step(spec, position, share)
        assert ending(spec, position, out_of_time=False) is None
    note_step(spec, position, 0.5)
    assert ending(spec, position, out_of_time=False) == "no_signal"


def test_patience_needs_evaluations() -> None:
    with pytest.raises(ValidationError, match="counts evaluations"):
        small_spec(limits__early_stop={"patience": 2}, evaluation__every_steps=0)
