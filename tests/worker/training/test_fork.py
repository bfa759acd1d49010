"""Forks in the trainer: the same end where nothing changed, and what is taken over otherwise."""

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load

from reinforge.errors import JobFailure
from reinforge.records import ForkStart
from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.sandbox.outcome import RewardRow
from worker.training.checkpoint.archive import pack, unpack
from worker.training.checkpoint.fork import start_of
from worker.training.checkpoint.resume_state import unpack_resume_state

ALL = ForkStart(step=2, carried=["weights", "optimizer", "algorithm", "order"])
WEIGHTS = ForkStart(step=2, carried=["weights", "order"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, model: Path) -> SmallJob:
    job = SmallJob(tmp_path_factory.mktemp("source"), model, small_spec())
    assert job.train().outcome == "succeeded"
    return job


def state_of(job: SmallJob) -> bytes:
    (record,) = job.records("resume_state_saved")
    return job.blob(record)


def checkpoint_of(job: SmallJob, step: int) -> bytes:
    (record,) = [record for record in job.records("checkpoint_saved") if record.step == step]
    return job.blob(record)


def test_an_unchanged_fork_ends_byte_for_byte_like_its_source(
    tmp_path: Path, model: Path, source: SmallJob
) -> None:
    job = SmallJob(tmp_path, model, small_spec(), resume=state_of(source), fork=ALL)
    assert job.train().outcome == "succeeded"
    assert checkpoint_of(job, 4) == checkpoint_of(source, 4)
    assert [record.step for record in job.records("step_metrics")] == [3, 4]
    # It measures where it begins, under its own rewards, and makes no second checkpoint of what is there already.
    assert [record.step for record in job.records("evaluated")] == [2, 4]
    assert [record.step for record in job.records("checkpoint_saved")] == [4]


def test_a_checkpoint_alone_gives_its_weights_to_a_fresh_optimizer(
    tmp_path: Path, model: Path, source: SmallJob
) -> None:
    job = SmallJob(tmp_path, model, small_spec(), resume=checkpoint_of(source, 2), fork=WEIGHTS)
    job.policy.export(tmp_path / "start", base_model="tiny")
    begun = (tmp_path / "start" / "adapter_model.safetensors").read_bytes()
    assert begun == unpack(checkpoint_of(source, 2))["adapter_model.safetensors"]
    assert job.policy.state().optimizer == {}
    assert job.train().outcome == "succeeded"
    assert checkpoint_of(job, 4) != checkpoint_of(source, 4)
    assert [record.step for record in job.records("step_metrics")] == [3, 4]


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer__learning_rate": 0.001},
        {"algorithm__preset": "dr_grpo"},
        {"algorithm__preset": "reinforce_pp"},
        {"algorithm__preset": "ppo"},
        {"limits__steps": 6},
    ],
    ids=["learning-rate", "dr_grpo", "reinforce_pp", "ppo", "more-steps"],
)
def test_a_fork_may_go_another_way(
    tmp_path: Path, model: Path, source: SmallJob, changes: dict[str, Any]
) -> None:
    fork = ForkStart(step=2, carried=["weights", "optimizer", "order"])
    job = SmallJob(tmp_path, model, small_spec(**changes), resume=state_of(source), fork=fork)
    assert job.train().outcome == "succeeded"
    assert job.position.step == job.spec.limits.steps
    assert job.position.updates >= 4  # the source's two and its own


def test_another_reward_scores_from_the_first_step_on(tmp_path: Path, model: Path, source: SmallJob) -> None:
    def high(row: RewardRow) -> float:
        return 1 - share_of_low_letters(row)

    job = SmallJob(tmp_path, model, small_spec(), resume=state_of(source), fork=ALL, grade=high)
    assert job.train().outcome == "succeeded"
    before = {record.step: record.values["held_out/reward_mean"] for record in source.records("evaluated")}
    after = {record.step: record.values["held_out/reward_mean"] for record in job.records("evaluated")}
    assert after[2] == pytest.approx(1 - before[2])


def test_state_that_is_not_carried_over_starts_fresh(source: SmallJob) -> None:
    _, before, _ = unpack_resume_state(state_of(source))
    position, policy, critic = start_of(state_of(source), WEIGHTS, "policy")
    assert (position.step, position.algorithm, position.evaluated_step, position.reward_errors) == (
        2,
        {},
        None,
        [],
    )
    assert (policy.optimizer, policy.reference, critic) == ({}, {}, None)
    assert before.optimizer and policy.adapter.keys() == before.adapter.keys()


def test_the_names_of_a_checkpoints_weights_are_the_policys(source: SmallJob) -> None:
    _, policy, _ = start_of(checkpoint_of(source, 4), WEIGHTS, "policy")
    assert policy.adapter.keys() == source.policy.state().adapter.keys()
    stored = load(unpack(checkpoint_of(source, 4))["adapter_model.safetensors"])
    assert sum(tensor.numel() for tensor in policy.adapter.values()) == sum(
        tensor.numel() for tensor in stored.values()
    )


@pytest.mark.parametrize(
    "content", [b"no tar", pack({"adapter_model.safetensors": b"xx"})], ids=["tar", "weights"]
)
def test_an_unreadable_start_is_reported(content: bytes) -> None:
    with pytest.raises(JobFailure) as caught:
        start_of(content, WEIGHTS, "policy")
    assert caught.value.code == "resume_state_invalid"
