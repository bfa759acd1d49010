"""Jobs on a base in NF4: learning, resuming to the bit, critic and reference, forks to the other precision."""

import math
from pathlib import Path
from typing import Any

import pytest

from reinforge.records import ForkStart
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.policy.nf4 import is_nf4

NF4: dict[str, Any] = {
    "base__precision": "nf4",
    "algorithm__loss": {"kl": {"beta": 0.01, "estimator": "k3"}},
    "limits__steps": 10,
    "optimizer__learning_rate": 0.03,
}
WEIGHTS = ForkStart(step=2, carried=["weights", "order"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, model: Path) -> SmallJob:
    job = SmallJob(tmp_path_factory.mktemp("nf4"), model, small_spec(**NF4))
    assert job.train().outcome == "succeeded"
    return job


def checkpoint_of(job: SmallJob, step: int) -> bytes:
    (record,) = [record for record in job.records("checkpoint_saved") if record.step == step]
    return job.blob(record)


def test_it_learns_and_its_reference_is_the_quantised_base(finished: SmallJob) -> None:
    before, *_, after = (record.values["held_out/reward_mean"] for record in finished.records("evaluated"))
    assert after > before + 0.06
    assert any(is_nf4(parameter) for parameter in finished.base.model.parameters())
    first, *_, last = (record.values["kl/mean"] for record in finished.records("step_metrics"))
    # From another base, the first step would not begin at 0.
    assert first == 0 < last


def test_a_continued_job_ends_with_the_same_bits(tmp_path: Path, model: Path, finished: SmallJob) -> None:
    state, *_ = finished.records("resume_state_saved")
    rest = SmallJob(tmp_path, model, small_spec(**NF4), resume=finished.blob(state))
    rest.train()
    assert [record.step for record in rest.records("step_metrics")] == list(range(3, 11))
    assert checkpoint_of(rest, 10) == checkpoint_of(finished, 10)


@pytest.mark.parametrize("base", ["shared", "own"])
def test_a_critic_is_trained_on_the_same_precision(tmp_path: Path, model: Path, base: str) -> None:
    spec = small_spec(
        base__precision="nf4", algorithm__preset="ppo", algorithm__critic={"base": base}, limits__steps=2
    )
    job = SmallJob(tmp_path, model, spec)
    assert job.train().outcome == "succeeded"
    assert job.critic is not None
    assert any(is_nf4(parameter) for parameter in job.critic._model.parameters())
    losses = [record.values["critic/loss"] for record in job.records("step_metrics")]
    assert all(math.isfinite(loss) for loss in losses) and losses[0] != losses[1]


@pytest.mark.parametrize(("source", "target"), [("nf4", "full"), ("full", "nf4")])
def test_a_fork_takes_its_weights_to_the_other_precision(
    tmp_path: Path, model: Path, finished: SmallJob, source: str, target: str
) -> None:
    if source == "full":
        finished = SmallJob(tmp_path / "source", model, small_spec(limits__steps=2))
        finished.train()
    spec = small_spec(base__precision=target, limits__steps=3)
    fork = SmallJob(tmp_path / "fork", model, spec, resume=checkpoint_of(finished, 2), fork=WEIGHTS)
    assert fork.train().outcome == "succeeded"
    assert [record.step for record in fork.records("step_metrics")] == [3]
    assert any(is_nf4(parameter) for parameter in fork.base.model.parameters()) == (target == "nf4")
