"""Two ranks compute what one computes: scores, gradients, metrics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from reinforge.errors import JobFailure
from tests.support.forked_ranks import two_ranks
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.critic import LoraCritic
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.ranked import RankedCritic, RankedPolicy, Ranks

STEP = {"learning_rate": 0.01, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01, "clip_norm": 1.0}
PROMPTS = [[5, 6, 7]] * 3 + [[9]] * 2 + [[5, 6, 7, 8, 30]] * 3
COMPLETIONS = [[40, 41, 1], [50, 60, 70, 80, 1], [33], [20, 21], [22, 23, 24, 25], [2], [3, 4, 5, 6], [7, 8]]
SEQUENCES = Sequences(PROMPTS, COMPLETIONS, 0.8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("ranks"), "qwen3")


def make(folder: Path, seed: int = 0) -> tuple[LoraPolicy, LoraCritic]:
    host = LocalHost(load_base_model(folder))
    policy = host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=seed)
    critic = host.create_critic("critic", rank=4, alpha=8, targets="all-linear", seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for parameter in (*policy.trained.list, *critic.trained.list):
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=generator)
    return policy, critic


@dataclass(frozen=True)
class Pair:
    """One rank, and two that hold the same model."""

    policy: LoraPolicy
    critic: LoraCritic
    ranked: RankedPolicy
    ranked_critic: RankedCritic
    ranks: Ranks
    other: int


@pytest.fixture(scope="module")
def pair(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    # Rank 1 begins with other weights: those of rank 0 count.
    with two_ranks(tmp_path_factory.mktemp("store"), lambda: make(folder, seed=1)) as (ranks, other):
        policy, critic = make(folder)
        yield Pair(*make(folder), RankedPolicy(policy, ranks), RankedCritic(critic, ranks), ranks, other)


def batch_of(needs: list[bool] | None = None, skipped: list[bool] | None = None) -> Batch:
    lengths = torch.tensor([len(ids) for ids in COMPLETIONS])
    mask = torch.arange(SEQUENCES.longest)[None, :] < lengths[:, None]
    return Batch(
        SEQUENCES,
        {"mask": mask, "scale": torch.linspace(-2, 1, len(COMPLETIONS))},
        torch.tensor(needs or [True] * len(COMPLETIONS)),
        denominator=4.0,
        skipped=None if skipped is None else torch.tensor(skipped),
    )


def weighted_logprob(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    total = (scores.logprobs * tensors["mask"] * tensors["scale"][:, None]).sum()
    return LossValue(total, {"tokens": (float(tensors["mask"].sum()), 1.0)}, {"slope": float(total.detach())})


def squared(values: Tensor, tensors: Mapping[str, Tensor]) -> LossValue:
    total = (((values - 1) ** 2) * tensors["mask"]).sum()
    return LossValue(total, {"value": (float(total.detach()), float(tensors["mask"].sum()))})


def failing(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    if float(tensors["scale"].max()) > 0.5:
        raise JobFailure("No room.", code="out_of_memory", retryable=True)
    return LossValue(scores.logprobs.sum(), {})


def gradients(model: LoraPolicy | LoraCritic) -> Tensor:
    return torch.cat(
        [torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten() for p in model.trained.list]
    )


def relative(actual: Tensor, expected: Tensor) -> float:
    return float((actual - expected).norm() / expected.norm())


def test_scores_and_gradients_are_those_of_one_rank(pair: Pair) -> None:
    expected, actual = pair.policy.log_probs(SEQUENCES), pair.ranked.log_probs(SEQUENCES)
    assert torch.allclose(actual.logprobs, expected.logprobs, atol=1e-5, rtol=0)
    assert torch.allclose(actual.entropies, expected.entropies, atol=1e-5, rtol=0)
    needs = [True, False, True, True, True, False, True, True]
    skipped = [False] * 5 + [True] + [False] * 2
    for batch in (batch_of(), batch_of(needs), batch_of(needs, skipped)):
        one = pair.policy.forward_backward(batch, weighted_logprob)
        two = pair.ranked.forward_backward(batch, weighted_logprob)
        assert relative(gradients(pair.ranked.own), gradients(pair.policy)) < 1e-5
        assert two.metrics["tokens"][0] == one.metrics["tokens"][0]
        assert two.gradients["slope"] == pytest.approx(one.gradients["slope"], rel=1e-4)
        assert torch.allclose(two.scores.logprobs, one.scores.logprobs, atol=1e-5, rtol=0)
        for policy in (pair.policy, pair.ranked):
            policy.optimizer_step(**STEP)  # type: ignore[arg-type]
    work = pair.ranks.work
    assert len(work) == 2 and all(rank.tokens > 0 and rank.peak_bytes > 0 for rank in work)


def test_gradients_of_two_calls_add_up(pair: Pair) -> None:
    for _ in range(2):
        pair.policy.forward_backward(batch_of(), weighted_logprob)
        pair.ranked.forward_backward(batch_of(), weighted_logprob)
    assert relative(gradients(pair.ranked.own), gradients(pair.policy)) < 1e-5
    for policy in (pair.policy, pair.ranked):
        policy.optimizer_step(**STEP)  # type: ignore[arg-type]


def test_the_critic_is_computed_by_all_ranks_too(pair: Pair) -> None:
    assert torch.allclose(pair.ranked_critic.values(SEQUENCES), pair.critic.values(SEQUENCES), atol=1e-5)
    one = pair.critic.forward_backward(batch_of(), squared)
    two = pair.ranked_critic.forward_backward(batch_of(), squared)
    assert relative(gradients(pair.ranked_critic.own), gradients(pair.critic)) < 1e-5
    assert two["value"] == pytest.approx(one["value"], rel=1e-5)
    for critic in (pair.critic, pair.ranked_critic):
        critic.optimizer_step(**STEP)  # type: ignore[arg-type]
    assert torch.allclose(pair.ranked_critic.values(SEQUENCES), pair.critic.values(SEQUENCES), atol=1e-4)


def test_a_loaded_state_and_a_new_reference_reach_all_ranks(pair: Pair) -> None:
    before = pair.policy.state()
    for policy in (pair.policy, pair.ranked):
        policy.load_state(before)
        policy.refresh_reference(0.5)
    moved = replace(before, adapter={key: 1.5 * tensor for key, tensor in before.adapter.items()})
    for policy in (pair.policy, pair.ranked):
        policy.load_state(replace(moved, reference=pair.policy.reference))
    expected, actual = pair.policy.reference_log_probs(SEQUENCES), pair.ranked.reference_log_probs(SEQUENCES)
    assert torch.allclose(actual, expected, atol=1e-5, rtol=0)
    scores = pair.ranked.log_probs(SEQUENCES).logprobs
    assert torch.allclose(scores, pair.policy.log_probs(SEQUENCES).logprobs, atol=1e-5, rtol=0)
    assert not torch.allclose(scores, expected, atol=1e-4)
    for policy in (pair.policy, pair.ranked):
        policy.load_state(before)


def test_fewer_rows_than_ranks_and_no_gradient(pair: Pair) -> None:
    one_row = SEQUENCES.take([1])
    expected = pair.policy.log_probs(one_row).logprobs
    assert torch.allclose(pair.ranked.log_probs(one_row).logprobs, expected, atol=1e-5, rtol=0)
    nothing = pair.ranked.forward_backward(batch_of([False] * len(COMPLETIONS)), weighted_logprob)
    assert nothing.scores.logprobs.any() and not gradients(pair.ranked.own).any()


def test_an_error_of_another_rank_is_raised_and_the_ranks_go_on(pair: Pair) -> None:
    with pytest.raises(JobFailure, match="No room") as raised:
        pair.ranked.forward_backward(batch_of(), failing)
    assert (raised.value.code, raised.value.retryable) == ("out_of_memory", True)
    assert "In rank 1" in raised.value.__notes__[0]
    for policy in (pair.policy, pair.ranked):
        policy.optimizer_step(**STEP | {"learning_rate": 0.0})  # type: ignore[arg-type]
    pair.policy.forward_backward(batch_of(), weighted_logprob)
    pair.ranked.forward_backward(batch_of(), weighted_logprob)
    assert relative(gradients(pair.ranked.own), gradients(pair.policy)) < 1e-4
