"""A rank that ends, or no longer answers."""

import os
import signal
from pathlib import Path

import pytest

from reinforge.errors import JobFailure
from tests.support.forked_ranks import two_ranks
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Sequences
from worker.policy.critic import LoraCritic
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.ranked import RankedPolicy

SEQUENCES = Sequences([[5, 6, 7]] * 4, [[40, 41, 1], [50, 60], [33], [20, 21]], 1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("ranks"), "qwen3")


def make(folder: Path) -> tuple[LoraPolicy, LoraCritic | None]:
    host = LocalHost(load_base_model(folder))
    return host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=0), None


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_rank_is_named_and_the_weights_stay(
    folder: Path, tmp_path: Path, fault: signal.Signals
) -> None:
    with two_ranks(tmp_path, lambda: make(folder), timeout=1.5) as (ranks, other):
        own, _ = make(folder)
        ranked = RankedPolicy(own, ranks)
        ranked.log_probs(SEQUENCES)
        before = own.weights()
        os.kill(other, fault)
        with pytest.raises(JobFailure, match="A rank of this job was lost") as raised:
            ranked.log_probs(SEQUENCES)
            ranked.log_probs(SEQUENCES)
    assert raised.value.code == "rank_lost"
    assert all(tensor.equal(own.weights()[key]) for key, tensor in before.items())


def test_a_rank_that_cannot_start_says_why(tmp_path: Path) -> None:
    def refused() -> tuple[LoraPolicy, LoraCritic | None]:
        raise JobFailure("No GPU.", code="gpu_unavailable", retryable=True)

    with pytest.raises(JobFailure, match="No GPU") as raised, two_ranks(tmp_path, refused):
        pass
    assert (raised.value.code, raised.value.retryable) == ("gpu_unavailable", True)
