"""A job with a critic: learning, metrics, resume state."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from reinforge.metrics import METRICS
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.training.checkpoint.archive import unpack

PPO: dict[str, Any] = {
    "algorithm__preset": "ppo",
    "algorithm__updates_per_step": 2,
    "algorithm__critic": {"learning_rate": 0.02, "clip_range": 0.05},
    "rollout__stop": list("aeiouy "),
}
"""Lengths differ, and a second update meets the bound on values."""


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def values_of(job: SmallJob) -> list[dict[str, Any]]:
    return [record.values for record in job.records("step_metrics")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, qwen: Path) -> SmallJob:
    job = SmallJob(tmp_path_factory.mktemp("ppo"), qwen, small_spec(**PPO, limits__steps=5))
    assert job.train().outcome == "succeeded"
    return job


def test_the_critics_metrics_are_reported(finished: SmallJob) -> None:
    own = {key for key, metric in METRICS.items() if metric.when == "algorithm.critic"}
    assert len(own) == 6
    for values in values_of(finished):
        assert own <= values.keys()
        assert all(values[key] is not None and math.isfinite(values[key]) for key in own)
    assert sum(values["critic/clip_share"] for values in values_of(finished)) > 0
    assert values_of(finished)[0]["critic/value_mean"] == 0


def test_whitened_advantages_have_mean_0_over_the_tokens_of_a_step(finished: SmallJob) -> None:
    for record in finished.records("rollouts"):
        if record.split == "train":
            total = sum(row.advantage * row.length for row in record.rows)
            assert total == pytest.approx(0, abs=1e-6)
            assert max(abs(row.advantage) for row in record.rows) > 0.1


def test_a_resumed_job_ends_with_the_same_policy_and_the_same_critic(
    tmp_path: Path, qwen: Path, finished: SmallJob
) -> None:
    first = finished.records("resume_state_saved")[0]
    assert {"critic.safetensors", "critic_optimizer.safetensors"} < unpack(finished.blob(first)).keys()
    rest = SmallJob(tmp_path, qwen, finished.spec, resume=finished.blob(first))
    rest.train()
    assert rest.records("checkpoint_saved")[-1].blob == finished.records("checkpoint_saved")[-1].blob
    assert rest.critic is not None and finished.critic is not None
    whole, again = finished.critic.state(), rest.critic.state()
    assert all(torch.equal(again.adapter[key], tensor) for key, tensor in whole.adapter.items())
    assert all(torch.equal(again.optimizer[key], tensor) for key, tensor in whole.optimizer.items())


def test_a_checkpoint_is_the_policys_alone(tmp_path: Path, qwen: Path, finished: SmallJob) -> None:
    without = SmallJob(tmp_path, qwen, small_spec(limits__steps=1))
    without.train()
    (plain,) = without.records("checkpoint_saved")
    checkpoint = finished.records("checkpoint_saved")[-1]
    assert unpack(finished.blob(checkpoint)).keys() == unpack(without.blob(plain)).keys()
    assert b"critic" not in finished.blob(checkpoint)


def test_the_critic_costs_its_adapter_and_on_its_own_base_as_much_again(tmp_path: Path, qwen: Path) -> None:
    held = {}
    for name, changes in {
        "without": {},
        "shared": {"algorithm__preset": "ppo"},
        "own": {"algorithm__preset": "ppo", "algorithm__critic": {"base": "own"}},
    }.items():
        job = SmallJob(tmp_path / name, qwen, small_spec(**changes, limits__steps=1, evaluation__rows=0))
        job.train()
        held[name] = (values_of(job)[0]["memory/state"], job.policy.state().adapter)
    assert held["without"][0] < held["shared"][0] < held["own"][0]
    assert held["own"][0] / held["without"][0] == pytest.approx(2, rel=0.01)
    # The same numbers, whoever holds the base model.
    assert all(torch.equal(held["own"][1][key], tensor) for key, tensor in held["shared"][1].items())


def test_a_critic_that_foresees_every_reward_leaves_the_policy_where_it_is(
    tmp_path: Path, qwen: Path
) -> None:
    """Rewards of 0, which a fresh critic says of every state: no advantage, no update, and nothing to learn."""
    spec = small_spec(algorithm__preset="ppo", evaluation__rows=0, limits__steps=2)
    job = SmallJob(tmp_path, qwen, spec, grade=lambda row: 0.0)
    before = job.policy.state().adapter
    job.train()
    assert all(torch.equal(job.policy.state().adapter[key], tensor) for key, tensor in before.items())
    values = values_of(job)[-1]
    assert values["optimizer/updates"] == 0
    assert values["critic/loss"] == 0
    assert values["critic/explained_variance"] is None


@pytest.mark.parametrize("group", [1, 4])
def test_ppo_learns(tmp_path: Path, qwen: Path, group: int) -> None:
    changes: dict[str, Any] = {
        "algorithm__preset": "ppo",
        "algorithm__critic": {"learning_rate": 0.01},
        "rollout__prompts_per_step": 48 // group,
        "rollout__completions_per_prompt": group,
        "data__held_out_rows": 0,
        "evaluation__rows": 0,
        "optimizer__learning_rate": 0.02,
        "limits__steps": 22,
        "limits__checkpoint_every": 100,
    }
    rows = [{"prompt": f"row {n}"} for n in range(48)]
    job = SmallJob(tmp_path, qwen, small_spec(**changes), rows=rows)
    job.train()
    values = values_of(job)
    rewards = [values["reward/mean"] for values in values]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.08
    # The critic comes to expect what there is.
    gaps = [abs(values["critic/value_mean"] - values["critic/return_mean"]) for values in values]
    assert sum(gaps[-4:]) < sum(gaps[:4]) / 2


def test_a_resume_state_from_before_there_were_critics_is_read(tmp_path: Path, qwen: Path) -> None:
    whole = SmallJob(tmp_path / "whole", qwen, small_spec())
    whole.train()
    (state,) = whole.records("resume_state_saved")
    assert not [name for name in unpack(whole.blob(state)) if "critic" in name]
    assert SmallJob(tmp_path / "rest", qwen, whole.spec, resume=whole.blob(state)).position.step == 2
