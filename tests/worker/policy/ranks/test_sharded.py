"""Two ranks that hold half of the base model each compute what one with all of it does."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from reinforge.errors import JobFailure
from tests.support.forked_ranks import two_sharded_ranks
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.critic import LoraCritic
from worker.policy.forward import activations
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.group import RankGroup
from worker.policy.ranks.ranked import RankedCritic, RankedPolicy
from worker.policy.sharded import is_sharded, own_part, shard

STEP = {"learning_rate": 0.01, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01, "clip_norm": 1.0}
PROMPTS = [[5, 6, 7]] * 3 + [[9]] * 2 + [[5, 6, 7, 8, 30]] * 3
COMPLETIONS = [[40, 41, 1], [50, 60, 70, 80, 1], [33], [20, 21], [22, 23, 24, 25], [2], [3, 4, 5, 6], [7, 8]]
SEQUENCES = Sequences(PROMPTS, COMPLETIONS, 0.8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("ranks"), "qwen3")


def make(folder: Path, *, sharded: bool = True, tokens: int = 16) -> tuple[LoraPolicy, LoraCritic]:
    """Micro-batches of at most `tokens`, so that the ranks' numbers of them differ."""
    host = LocalHost(load_base_model(folder, sharded=sharded))
    policy = host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=0)
    critic = host.create_critic("critic", rank=4, alpha=8, targets="all-linear", seed=0)
    generator = torch.Generator().manual_seed(0)
    for parameter in (*policy.trained.list, *critic.trained.list):
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=generator)
    for model in (policy, critic):
        model.passes.tokens = tokens
    return policy, critic


@contextmanager
def sharded(tmp_path: Path, folder: Path) -> Iterator[tuple[RankedPolicy, RankedCritic, int]]:
    with two_sharded_ranks(tmp_path, lambda: make(folder), timeout=120) as (ranks, other):
        policy, critic = make(folder)
        yield RankedPolicy(policy, ranks), RankedCritic(critic, ranks), other


def batch_of(needs: list[bool] | None = None) -> Batch:
    lengths = torch.tensor([len(ids) for ids in COMPLETIONS])
    mask = torch.arange(SEQUENCES.longest)[None, :] < lengths[:, None]
    return Batch(
        SEQUENCES,
        {"mask": mask, "scale": torch.linspace(-2, 1, len(COMPLETIONS))},
        torch.tensor(needs or [True] * len(COMPLETIONS)),
        denominator=4.0,
    )


def weighted_logprob(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    total = (scores.logprobs * tensors["mask"] * tensors["scale"][:, None]).sum()
    return LossValue(total, {"rows": (float(len(tensors["scale"])), 1.0)}, {"slope": float(total.detach())})


def squared(values: Tensor, tensors: Mapping[str, Tensor]) -> LossValue:
    total = (((values - 1) ** 2) * tensors["mask"]).sum()
    return LossValue(total, {"value": (float(total.detach()), float(tensors["mask"].sum()))})


def failing(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    if float(tensors["scale"].max()) > 0.5:
        raise JobFailure("No room.", code="no_room", retryable=True)
    return LossValue(scores.logprobs.sum(), {})


def short_of_memory(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    if float(tensors["scale"].max()) > 0.5:
        raise torch.OutOfMemoryError("Tried to allocate 9.00 GiB")
    return LossValue(scores.logprobs.sum(), {})


def gradients(model: LoraPolicy | LoraCritic) -> Tensor:
    return torch.cat([p.grad.flatten() for p in model.trained.list if p.grad is not None])


def relative(actual: Tensor, expected: Tensor) -> float:
    return float((actual - expected).norm() / expected.norm())


def test_policy_and_critic_compute_as_on_one_rank(tmp_path: Path, folder: Path) -> None:
    one, critic = make(folder, sharded=False)
    some = [True, False, False, False, False, True, True, True]
    with sharded(tmp_path, folder) as (two, ranked_critic, _):
        assert torch.allclose(
            two.log_probs(SEQUENCES).logprobs, one.log_probs(SEQUENCES).logprobs, atol=1e-5, rtol=0
        )
        for needs in (None, some, [row == 0 for row in range(len(COMPLETIONS))]):
            expected = one.forward_backward(batch_of(needs), weighted_logprob)
            actual = two.forward_backward(batch_of(needs), weighted_logprob)
            assert relative(gradients(two.own), gradients(one)) < 1e-5
            assert {key: total for key, (total, _) in actual.metrics.items()} == {"rows": len(COMPLETIONS)}
            assert actual.gradients["slope"] == pytest.approx(expected.gradients["slope"], rel=1e-4)
            assert torch.allclose(actual.scores.entropies, expected.scores.entropies, atol=1e-5, rtol=0)
            assert two.optimizer_step(**STEP) == pytest.approx(one.optimizer_step(**STEP), rel=1e-4)  # type: ignore[arg-type]
        for score in ("reference_log_probs", "base_log_probs"):
            assert torch.allclose(
                getattr(two, score)(SEQUENCES), getattr(one, score)(SEQUENCES), atol=1e-5, rtol=0
            )
        one_row = SEQUENCES.take([1])
        assert torch.allclose(
            two.log_probs(one_row).logprobs, one.log_probs(one_row).logprobs, atol=1e-4, rtol=0
        )
        assert ranked_critic.forward_backward(batch_of(some), squared)["value"] == pytest.approx(
            critic.forward_backward(batch_of(some), squared)["value"], rel=1e-5
        )
        assert relative(gradients(ranked_critic.own), gradients(critic)) < 1e-5
        assert torch.allclose(ranked_critic.values(SEQUENCES), critic.values(SEQUENCES), atol=1e-5)
        two.export(tmp_path / "adapter", base_model="tiny")
    one.export(tmp_path / "expected", base_model="tiny")
    config = "adapter_config.json"
    assert (tmp_path / "adapter" / config).read_text() == (tmp_path / "expected" / config).read_text()


def test_each_rank_holds_its_part_of_every_matrix(tmp_path: Path, folder: Path) -> None:
    one, _ = make(folder, sharded=False)
    with sharded(tmp_path, folder) as (two, _, _):
        model, whole = two.own._model, one._model
        matrices = [
            p for key, p in model.model.layers.named_parameters() if "lora_" not in key and p.dim() > 1
        ]
        assert matrices and all(is_sharded(p) for p in matrices)
        assert sum(own_part(p).numel() for p in matrices) * 2 == sum(p.numel() for p in matrices)
        assert one.held_bytes - two.held_bytes == sum(p.nbytes for p in matrices) // 2
        assert model.num_parameters() == whole.num_parameters()
        assert model.get_input_embeddings().weight.equal(whole.get_input_embeddings().weight)


def test_gradient_checkpointing_is_chosen_by_all_ranks(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = make(folder, sharded=False)
    one.forward_backward(batch_of(), weighted_logprob)
    monkeypatch.setattr(activations, "memory_at_hand", lambda device: 4096)
    with sharded(tmp_path, folder) as (two, _, _):
        two.forward_backward(batch_of(), weighted_logprob)
        assert two.own.passes.facts == {"micro_batch_tokens": 9, "gradient_checkpointing": True}
        assert relative(gradients(two.own), gradients(one)) < 1e-5


@pytest.mark.parametrize(
    ("loss", "code", "message"),
    [(failing, "no_room", "No room"), (short_of_memory, "out_of_memory", "with gradient checkpointing")],
)
def test_an_error_of_another_rank_ends_all_with_it(
    tmp_path: Path, folder: Path, loss: object, code: str, message: str
) -> None:
    with sharded(tmp_path, folder) as (two, _, _):
        started = time.monotonic()
        with pytest.raises(JobFailure, match=message) as raised:
            two.forward_backward(batch_of(), loss)  # type: ignore[arg-type]
        assert (raised.value.code, raised.value.retryable) == (code, True)
        assert time.monotonic() - started < 60 and two.state().adapter
        assert bool(two.state().facts) == (code == "out_of_memory")


def test_a_killed_rank_is_named_at_once(tmp_path: Path, folder: Path) -> None:
    with sharded(tmp_path, folder) as (two, _, other):
        two.log_probs(SEQUENCES)
        os.kill(other, signal.SIGKILL)
        with pytest.raises(JobFailure, match="A rank of this job was lost") as raised:
            two.log_probs(SEQUENCES)
            two.log_probs(SEQUENCES)
        assert raised.value.code == "rank_lost"


def test_a_rank_that_cannot_load_says_why(tmp_path: Path) -> None:
    def refused() -> tuple[LoraPolicy, LoraCritic | None]:
        raise JobFailure("No file.", code="model_load_failed")

    with two_sharded_ranks(tmp_path, refused) as (ranks, _), pytest.raises(JobFailure, match="No file"):
        ranks.group.meet("loaded")


def test_a_model_without_layers_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_base_model(folder).model
    monkeypatch.setattr("worker.policy.sharded.sharded_layers", lambda model: [])
    with pytest.raises(JobFailure, match="cannot be divided among ranks") as raised:
        shard(model, torch.device("cpu"), torch.float32)
    assert raised.value.code == "sharding_unsupported"


def test_weights_are_widened_as_on_one_rank(tmp_path: Path, folder: Path) -> None:
    half = tmp_path / "half"
    shutil.copytree(folder, half)
    AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(half)
    one, _ = make(half, sharded=False)
    with sharded(tmp_path, half) as (two, _, _):
        assert two.own._model.dtype == torch.float32
        assert torch.allclose(
            two.log_probs(SEQUENCES).logprobs, one.log_probs(SEQUENCES).logprobs, atol=1e-5, rtol=0
        )


def test_between_gpus_the_end_of_a_rank_aborts_a_collective(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NCCL would wait; here a gloo group stands for it, and the pass for one that waits."""
    aborted = threading.Event()
    monkeypatch.setattr("torch.distributed.distributed_c10d._abort_process_group", aborted.set)
    monkeypatch.setattr("worker.policy.ranks.group._WATCH_SECONDS", 0.01)
    ended: list[str] = []
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    group = RankGroup(store, 0, 1, diagnose=lambda: ended[0] if ended else None)
    monkeypatch.setattr(group, "_on_gpus", True)
    try:
        with group.collective():
            assert not aborted.wait(0.1)
        with pytest.raises(JobFailure, match="rank 1 ended with SIGKILL"), group.collective():
            ended.append("rank 1 ended with SIGKILL")
            assert aborted.wait(5)
            raise torch.distributed.DistBackendError("NCCL communicator was aborted")
    finally:
        group.close()
