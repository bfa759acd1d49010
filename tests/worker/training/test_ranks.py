"""Jobs of two ranks and of one have equal series and adapters."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support import small_jobs
from tests.support.forked_ranks import two_ranks, two_sharded_ranks
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.policy.critic import LoraCritic
from worker.policy.load import LoadedModel, load_base_model
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.ranked import RankedCritic, RankedPolicy
from worker.rollout.transformers_engine import TransformersEngine
from worker.training.loop import Models

Start = Callable[..., AbstractContextManager[SmallJob]]
MACHINE = ("time/", "memory/", "throughput/")
TWICE = {
    "algorithm__preset": "grpo",
    "algorithm__updates_per_step": 2,
    "algorithm__loss": {"kl": {"beta": 0.05}},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


def exact(folder: Path, model: Path, *, sharded: bool = False, **changes: Any) -> SmallJob:
    """A job in float64. sharded: its base model is divided between two ranks, so it has no engine of its own."""
    changes = {"limits__steps": 20, "limits__checkpoint_every": 20, "evaluation__every_steps": 0} | changes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_jobs, "load_base_model", partial(load_double, sharded=sharded))
        if sharded:
            patch.setattr(SmallJob, "_engine", lambda job: None)
        return SmallJob(folder, model, small_spec(**changes))


def load_double(folder: Path, **settings: Any) -> LoadedModel:
    base = load_base_model(folder, **settings)
    base.model.double()
    for module in base.model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            # transformers' own computes in float32, which makes 1e-8 of a difference of 1e-13.
            vars(module)["forward"] = partial(rms_norm, module)
    return base


def rms_norm(module: Any, x: Tensor) -> Tensor:
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), module.weight, module.variance_epsilon)


@contextmanager
def ranked(folder: Path, model: Path, **changes: Any) -> Iterator[SmallJob]:
    def make() -> tuple[LoraPolicy, LoraCritic | None]:
        other = exact(folder / "other", model, **changes)
        return other.policy, other.critic

    folder.mkdir()
    with two_ranks(folder, make) as (ranks, _):
        job = exact(folder / "job", model, **changes)
        critic = None if job.critic is None else RankedCritic(job.critic, ranks)
        job.models = Models(RankedPolicy(job.policy, ranks), critic)
        yield job
        assert min(rank.tokens for rank in ranks.work) > 0


@contextmanager
def sharded(folder: Path, model: Path, **changes: Any) -> Iterator[SmallJob]:
    def make() -> tuple[LoraPolicy, LoraCritic | None]:
        other = exact(folder / "other", model, sharded=True, **changes)
        return other.policy, other.critic

    folder.mkdir()
    with two_sharded_ranks(folder, make) as (ranks, _):
        job = exact(folder / "job", model, sharded=True, **changes)
        whole = exact(folder / "whole", model, **changes)
        critic = None if job.critic is None else RankedCritic(job.critic, ranks)
        job.models = Models(RankedPolicy(job.policy, ranks), critic)
        job.engine = TransformersEngine(
            whole.base.model,
            job.text.raw,
            whole.host.sampling_as,
            refresh=lambda: whole.policy.load_weights(job.policy.weights()),
        )
        yield job


def series(job: SmallJob) -> list[dict[str, float]]:
    return [
        {key: value for key, value in step["values"].items() if not key.startswith(MACHINE)}
        for step in job.metrics()
    ]


PPO = {"algorithm__preset": "ppo"}


@pytest.mark.parametrize(
    ("start", "changes"),
    [
        pytest.param(ranked, {}, marks=pytest.mark.long),
        (ranked, TWICE),
        pytest.param(ranked, PPO, marks=pytest.mark.long),
        pytest.param(ranked, {"rollout__ahead": 1}, marks=pytest.mark.long),
        pytest.param(sharded, TWICE, marks=pytest.mark.long),
        pytest.param(sharded, PPO | {"algorithm__critic": {"base": "own"}}, marks=pytest.mark.long),
        (sharded, TWICE | {"limits__steps": 4, "limits__checkpoint_every": 4}),
    ],
    ids=["plain", "twice", "critic", "ahead", "sharded", "sharded-critic", "sharded-short"],
)
def test_twenty_steps_of_two_ranks_are_those_of_one(
    tmp_path: Path, model: Path, start: Start, changes: dict[str, Any]
) -> None:
    one = exact(tmp_path / "one", model, **changes)
    assert one.train().outcome == "succeeded"
    with start(tmp_path / "two", model, **changes) as two:
        assert two.train().outcome == "succeeded"
    expected, actual = one.policy.weights(), two.policy.weights()
    difference = max(float((actual[key] - tensor).abs().max()) for key, tensor in expected.items())
    # A critic's value head is float32.
    assert difference < (1e-9 if one.critic is None else 1e-5), difference
    assert {tensor.dtype for tensor in expected.values()} == {torch.float64}
    moved = max(float(tensor.abs().max()) for key, tensor in expected.items() if "lora_B" in key)
    assert moved > 0.01
    steps = series(one)
    assert len(steps) >= one.spec.limits.steps
    assert [step.keys() for step in steps] == [step.keys() for step in series(two)]
    for before, after in zip(steps, series(two), strict=True):
        assert after == pytest.approx(before, abs=1e-6, nan_ok=True)
