"""A job that runs out of memory in the middle of a step: nothing counts twice, and a pause keeps the last whole
step."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from reinforge.errors import JobFailure
from tests.support.short_memory import Pass, short_of_memory
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.policy.forward import activations
from worker.training.checkpoint.resume_state import pack_resume_state

CRITIC: dict[str, Any] = {
    "algorithm__critic": {"type": "value_head"},
    "algorithm__advantage": {"type": "gae"},
}
QUICK: dict[str, Any] = {"evaluation__rows": 0, "data__held_out_rows": 0, "limits__steps": 2}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def _unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activations, "memory_at_hand", lambda device: None)


def in_step(job: SmallJob, step: int, number: int) -> Callable[[Pass], bool]:
    """The pass with gradient of this number within the step."""
    calls = [0]

    def fails(here: Pass) -> bool:
        if job.position.step != step - 1 or not here.gradient:
            return False
        calls[0] += 1
        return calls[0] - 1 == number

    return fails


def numbers(job: SmallJob) -> list[dict[str, Any]]:
    """What the series have, without times and memory."""
    measured = ("time/", "memory/", "throughput/")
    return [
        {key: value for key, value in record.values.items() if not key.startswith(measured)}
        for record in job.records("step_metrics")
    ]


@pytest.mark.parametrize(
    "changes", [{}, {"algorithm__updates_per_step": 2}, CRITIC], ids=["one", "two", "critic"]
)
@pytest.mark.parametrize("backward", [False, True])
def test_series_and_journal_count_nothing_twice(
    tmp_path: Path, model: Path, changes: dict[str, Any], backward: bool
) -> None:
    whole = SmallJob(tmp_path / "whole", model, small_spec(**QUICK, **changes))
    whole.train()
    job = SmallJob(tmp_path / "short", model, small_spec(**QUICK, **changes))
    messages: list[str] = []
    for trained in (job.policy, job.critic):
        if trained is not None:
            trained.passes.on_change = lambda message, facts: messages.append(message)
    with short_of_memory(job.policy._model, in_step(job, 2, 0), backward=backward):
        assert job.train().outcome == "succeeded"
    assert len(messages) == 1
    kinds = [record.kind for record in job.records() if record.kind != "phase"]
    assert kinds == [record.kind for record in whole.records() if record.kind != "phase"]
    for actual, expected in zip(numbers(job), numbers(whole), strict=True):
        assert actual.keys() == expected.keys()
        for key, value in expected.items():
            assert actual[key] == (value if value is None else pytest.approx(value, abs=2e-4, rel=2e-4)), key
    for (key, actual), expected in zip(
        job.policy.state().adapter.items(), whole.policy.state().adapter.values(), strict=True
    ):
        torch.testing.assert_close(actual, expected, atol=1e-3, rtol=1e-3, msg=key)


@pytest.mark.parametrize(
    ("changes", "number"),
    [({}, 0), ({"algorithm__updates_per_step": 2}, 1), (CRITIC, 1)],
    ids=["in-the-only-update", "behind-an-update", "in-the-critic"],
)
def test_a_pause_keeps_the_last_whole_step(
    tmp_path: Path, model: Path, changes: dict[str, Any], number: int
) -> None:
    """Also behind an optimizer step of the step that failed; and with memory again the job ends as if nothing had
    been."""
    spec = small_spec(**QUICK, **changes)
    whole = SmallJob(tmp_path / "whole", model, spec)
    whole.train()
    job = SmallJob(tmp_path / "short", model, spec)
    in_time = in_step(job, 2, number)
    failing = [False]

    def fails(here: Pass) -> bool:
        failing[0] = failing[0] or in_time(here)
        return failing[0] and here.gradient

    with short_of_memory(job.policy._model, fails), pytest.raises(JobFailure) as ended:
        job.train()
    assert (ended.value.code, ended.value.retryable, job.position.step) == ("out_of_memory", True, 1)
    state = pack_resume_state(
        job.position, job.policy.state(), None if job.critic is None else job.critic.state()
    )
    rest = SmallJob(tmp_path / "rest", model, spec, resume=state)
    assert rest.train().outcome == "succeeded"
    assert rest.records("checkpoint_saved")[-1].blob == whole.records("checkpoint_saved")[-1].blob
    assert numbers(rest) == numbers(whole)[1:]
