"""The loss in a job: its own parameters and coefficients, what it reads, and that a resumed job carries them on."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Sequences
from worker.training.forward_passes import Passes, reads_old_policy, reward_passes, update_passes
from worker.training.rollout_sequences import RolloutSequences

STATEFUL: dict[str, Any] = {
    "algorithm__updates_per_step": 2,
    "algorithm__loss": {
        "aggregation": {"type": "lambda", "learning_rate": 5.0},
        "entropy": {"type": "adaptive", "target": 5.0, "step": 0.02},
        "kl": {"beta": 0.05, "adaptive": {"target": 1e-4, "horizon": 20}},
    },
    "optimizer__learning_rate": 0.02,
    "rollout__stop": list("aeiouy "),
}
"""A trained exponent and both controllers, each with settings that move it in a few small steps; lengths differ."""

EVERYTHING: dict[str, Any] = {
    "algorithm__updates_per_step": 2,
    "algorithm__loss": {
        "aggregation": {"type": "lambda", "initial": 0.7},
        "entropy": {"type": "static", "coefficient": 0.05},
        "policy_tokens": {"type": "top_entropy", "share": 0.5},
        "kl": {"beta": 0.05, "level": "sequence"},
        "off_policy_mask": {"type": "sequence", "delta": 0.001},
        "mismatch": {"type": "importance", "mode": "token_truncate", "ratio_max": 2.0},
        "aux": {"type": "dpo_pair", "weight": 0.5},
    },
    "rollout__stop": list("aeiouy "),
    "optimizer__eps": 0.01,
}
"""All that depends on the whole optimizer batch at once. AdamW's first step would be the gradient's sign; with a large
eps it keeps to its size."""


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def values_of(job: SmallJob) -> list[dict[str, Any]]:
    return [record.values for record in job.records("step_metrics")]


def test_the_loss_trains_its_own_parameter_and_moves_its_coefficients(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec(**STATEFUL))
    job.train()
    values = values_of(job)
    first, last = values[0], values[-1]
    assert last["loss/lambda"] != first["loss/lambda"] != 0
    # Two updates a step, each below the target: up by `step` twice.
    assert first["entropy/coefficient"] == pytest.approx(0.04)
    assert last["entropy/coefficient"] == pytest.approx(0.16)
    # Above its target by more than a fifth: 12 completions a step against a horizon of 20.
    assert last["kl/coefficient"] / values[-2]["kl/coefficient"] == pytest.approx(1 + 0.2 * 12 / 20)


def test_a_resumed_job_carries_the_state_of_its_loss(tmp_path: Path, qwen: Path) -> None:
    spec = small_spec(**STATEFUL, limits__steps=5)
    whole = SmallJob(tmp_path / "whole", qwen, spec)
    whole.train()
    (state, _) = whole.records("resume_state_saved")
    rest = SmallJob(tmp_path / "rest", qwen, spec, resume=whole.blob(state))
    assert set(rest.position.algorithm["loss"]) == {"parameters", "entropy", "kl"}
    rest.train()
    assert rest.position.algorithm == whole.position.algorithm
    assert rest.records("checkpoint_saved")[-1].blob == whole.records("checkpoint_saved")[-1].blob


IN_REWARD: dict[str, Any] = {
    "algorithm__shaping": {
        "type": "weighted_sum",
        "kl": {"beta": 0.05, "adaptive": {"target": 1e-4, "horizon": 20}},
    },
    "optimizer__learning_rate": 0.02,
    "limits__steps": 4,
}
"""A KL in the reward that is above its target from the second step on; 12 completions a step."""


def test_the_kl_in_the_reward_moves_like_the_one_in_the_loss(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec(**IN_REWARD))
    job.train()
    coefficients = [values["kl/coefficient"] for values in values_of(job)]
    # The first step's completions are the reference's own: the distance is 0, and β goes down by a fifth of 12 / 20.
    assert coefficients[0] == pytest.approx(0.05 * (1 - 0.2 * 12 / 20))
    assert coefficients[-1] / coefficients[-2] == pytest.approx(1 + 0.2 * 12 / 20)
    assert job.position.algorithm["reward_kl"] == {"coefficient": pytest.approx(coefficients[-1])}


def test_a_resumed_job_carries_the_kl_in_the_reward(tmp_path: Path, qwen: Path) -> None:
    spec = small_spec(**IN_REWARD, limits__checkpoint_every=2)
    whole = SmallJob(tmp_path / "whole", qwen, spec)
    whole.train()
    state = whole.records("resume_state_saved")[0]
    rest = SmallJob(tmp_path / "rest", qwen, spec, resume=whole.blob(state))
    assert set(rest.position.algorithm["reward_kl"]) == {"coefficient"}
    rest.train()
    assert rest.position.algorithm == whole.position.algorithm
    assert rest.records("checkpoint_saved")[-1].blob == whole.records("checkpoint_saved")[-1].blob


def test_micro_batches_do_not_change_a_step(tmp_path: Path, qwen: Path) -> None:
    ends = []
    for number, tokens in enumerate((2048, 64)):
        job = SmallJob(tmp_path / str(number), qwen, small_spec(**EVERYTHING, limits__steps=1))
        job.policy.passes.tokens = tokens
        job.train()
        ends.append((job.policy.state().adapter, values_of(job)[0]))
    (whole, values), (parts, values_in_parts) = ends
    for key, tensor in whole.items():
        torch.testing.assert_close(parts[key], tensor, atol=2e-4, rtol=0)
    for name in ("loss/policy", "loss/lambda", "policy/clip_high_share", "kl/mean", "optimizer/grad_norm"):
        assert values_in_parts[name] == pytest.approx(values[name], abs=1e-4), name
    assert values["policy/off_policy_share"] >= 0
    assert values["sampler/weight_mean"] == pytest.approx(1, abs=1e-3)


def test_an_entropy_bonus_alone_raises_the_entropy(tmp_path: Path, qwen: Path) -> None:
    """The rewards are all the same: whatever moves the policy is the bonus."""
    changes: dict[str, Any] = {
        "algorithm__loss": {"entropy": {"type": "static", "coefficient": 1.0}},
        "optimizer__learning_rate": 0.02,
        "rollout__temperature": 0.5,
        "evaluation__rows": 0,
    }
    job = SmallJob(tmp_path, qwen, small_spec(**changes), grade=lambda row: 1.0)
    job.train()
    values = values_of(job)
    assert values[0]["optimizer/updates"] == 1
    assert values[-1]["entropy/mean"] > values[0]["entropy/mean"] + 0.01


class Counting:
    """A policy that only counts which passes it is asked for."""

    def __init__(self) -> None:
        self.forward_passes: list[str] = []

    def log_probs(self, sequences: Sequences) -> Any:
        self.forward_passes.append("old")
        return "old"

    def reference_log_probs(self, sequences: Sequences) -> Any:
        self.forward_passes.append("reference")
        return "reference"


@pytest.mark.parametrize(
    ("changes", "passes"),
    [
        ({}, []),
        ({"algorithm__updates_per_step": 2}, ["old"]),
        ({"algorithm__advantage": {"type": "eda"}}, ["old"]),
        ({"algorithm__loss": {"kl": {"beta": 0.1}}}, ["reference"]),
        ({"algorithm__loss": {"kl": {"beta_by": {"column": "x", "values": {"a": 0.1}}}}}, ["reference"]),
        ({"algorithm__loss": {"policy_tokens": {"type": "top_entropy"}}}, ["old"]),
        ({"algorithm__loss": {"aux": {"type": "dpo_pair"}}}, ["old", "reference"]),
        ({"algorithm__shaping": {"type": "weighted_sum", "kl": {"beta": 0.1}}}, ["old", "reference"]),
    ],
)
def test_a_pass_is_made_when_something_reads_it_and_once(changes: dict[str, Any], passes: list[str]) -> None:
    spec, policy = small_spec(**changes), Counting()
    sequences = RolloutSequences(Sequences([], [], 1.0), [], [])
    update = reward_passes(spec, policy, sequences)  # type: ignore[arg-type]
    update = update_passes(spec, policy, sequences, update)  # type: ignore[arg-type]
    assert policy.forward_passes == passes
    assert reads_old_policy(spec) <= ("old" in passes)
    assert isinstance(update, Passes)


def test_the_coefficient_of_a_row_is_that_of_its_column(tmp_path: Path, qwen: Path) -> None:
    rows = [{"prompt": f"row {n}", "domain": "math"} for n in range(12)]
    kls: list[dict[str, Any]] = [
        {"beta": 0.0},
        {"beta": 0.0, "beta_by": {"column": "domain", "values": {"math": 0.0, "chat": 10.0}}},
        {"beta": 0.0, "beta_by": {"column": "domain", "values": {"math": 10.0, "chat": 0.0}}},
    ]
    jobs = []
    for number, kl in enumerate(kls):
        changes: dict[str, Any] = {"algorithm__loss": {"kl": kl}, "evaluation__rows": 0}
        changes["optimizer__learning_rate"] = 0.05
        job = SmallJob(tmp_path / str(number), qwen, small_spec(**changes), rows=rows)
        job.train()
        jobs.append(job)
    without, free, held = (job.policy.state().adapter for job in jobs)
    for key, tensor in without.items():
        torch.testing.assert_close(free[key], tensor, atol=1e-6, rtol=0)
    assert any(not torch.allclose(held[key], tensor, atol=1e-3) for key, tensor in without.items())
    assert values_of(jobs[2])[-1]["kl/mean"] < values_of(jobs[1])[-1]["kl/mean"]
