"""Properties that hold for random numbers, not only for the worked cases."""

import math

import pytest
import torch
from torch import Tensor

from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.loss.aggregation import AGGREGATIONS, token_weights
from worker.algorithm.loss.losses import LossInputs, policy_loss
from worker.algorithm.rows import Rows, lookup
from worker.algorithm.selection import select
from worker.algorithm.shaping import shape

LOSS = {
    "ratio_level": "token",
    "surrogate": {"type": "ppo_clip", "eps_low": 0.2, "eps_high": 0.2},
    "kl": {"beta": 0.0, "estimator": "k3"},
}
AGGREGATION_SLOTS = [{"type": "seq_mean"}, {"type": "constant", "length": 7}]


def make_rows(values: list[list[float]], *, group: list[int], scorable: list[bool] | None = None) -> Rows:
    count = len(values)
    return Rows(
        group=torch.tensor(group),
        values=torch.tensor(values).double(),
        weights=torch.ones(len(values[0])).double(),
        scorable=torch.tensor(scorable or [True] * count),
        mask=torch.ones((count, 2), dtype=torch.bool),
        truncated=torch.zeros(count, dtype=torch.bool),
    )


def run_loss(
    logprobs: Tensor, old: Tensor | None, mask: Tensor, advantages: Tensor, aggregation: dict[str, object]
) -> tuple[float, Tensor]:
    weights = token_weights(aggregation, mask)
    inputs = LossInputs(
        mask=mask,
        advantages=advantages,
        token_weights=weights.weights,
        counts=weights.counts,
        old_logprobs=old,
    )
    leaf = logprobs.clone().requires_grad_()
    loss = policy_loss(leaf, inputs, LOSS).total / weights.counts.sum()
    torch.autograd.backward(loss)
    assert leaf.grad is not None
    return loss.item(), leaf.grad


@pytest.fixture
def batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    logprobs = -torch.rand((6, 5), generator=generator)
    old = logprobs + 0.4 * torch.randn((6, 5), generator=generator)
    lengths = torch.tensor([5, 2, 1, 4, 3, 5])
    mask = torch.arange(5)[None, :] < lengths[:, None]
    return logprobs, old, mask, torch.randn(6, generator=generator)


def test_a_group_of_one_has_no_advantage() -> None:
    rows = make_rows([[0.7], [math.nan], [0.1], [0.9]], group=[0, 0, 1, 1])
    rewards = shape({"type": "weighted_sum"}, rows, {}).rewards
    keep = select({"type": "keep_all"}, rows, rewards, {}).keep
    credit = ADVANTAGES["grpo"](rows, rewards, keep)
    assert credit[:2].tolist() == [0.0, 0.0]
    assert credit[3] > 0 > credit[2]


def test_a_failed_row_leaves_its_group() -> None:
    whole = make_rows([[0.2], [0.8], [0.5]], group=[0, 0, 0])
    failed = make_rows([[0.2], [0.8], [0.5], [99.0]], group=[0, 0, 0, 0], scorable=[True, True, True, False])
    rewards = shape({"type": "weighted_sum"}, failed, {}).rewards
    keep = select({"type": "keep_all"}, failed, rewards, {}).keep
    assert keep.tolist() == [True, True, True, False]
    assert math.isnan(rewards[3])
    expected = ADVANTAGES["grpo"](whole, whole.values[:, 0], torch.ones(3, dtype=torch.bool))
    assert ADVANTAGES["grpo"](failed, rewards, keep).tolist() == [*expected.tolist(), 0.0]


def test_weights_apply_and_missing_values_are_skipped() -> None:
    rows = make_rows([[1.0, 10.0], [math.nan, 10.0], [math.nan, math.nan]], group=[0, 0, 0])
    weighted = Rows(
        group=rows.group,
        values=rows.values,
        weights=torch.tensor([2.0, -0.5]).double(),
        scorable=rows.scorable,
        mask=rows.mask,
        truncated=rows.truncated,
    )
    rewards = shape({"type": "weighted_sum"}, weighted, {}).rewards
    assert rewards[:2].tolist() == [-3.0, -5.0]
    assert math.isnan(rewards[2])


@pytest.mark.parametrize("aggregation", AGGREGATION_SLOTS, ids=lambda slot: slot["type"])
def test_padding_changes_nothing(batch: tuple[Tensor, ...], aggregation: dict[str, object]) -> None:
    logprobs, old, mask, advantages = batch
    pad = torch.full((6, 3), float("nan"))
    wide = [
        torch.cat([logprobs, pad], 1),
        torch.cat([old, pad], 1),
        torch.cat([mask, torch.zeros(6, 3).bool()], 1),
    ]
    loss, grad = run_loss(logprobs, old, mask, advantages, aggregation)
    wide_loss, wide_grad = run_loss(wide[0], wide[1], wide[2], advantages, aggregation)
    assert wide_loss == pytest.approx(loss, abs=1e-6)
    torch.testing.assert_close(wide_grad[:, :5], grad)
    assert (wide_grad[:, 5:] == 0).all()


@pytest.mark.parametrize("aggregation", AGGREGATION_SLOTS, ids=lambda slot: slot["type"])
def test_micro_batches_add_up_to_the_whole(batch: tuple[Tensor, ...], aggregation: dict[str, object]) -> None:
    logprobs, old, mask, advantages = batch
    whole, grad = run_loss(logprobs, old, mask, advantages, aggregation)
    weights = token_weights(aggregation, mask)
    leaf = logprobs.clone().requires_grad_()
    sums = []
    for rows in ([5, 0], [1], [4, 3, 2]):
        inputs = LossInputs(
            mask=mask[rows],
            advantages=advantages[rows],
            token_weights=weights.weights[rows],
            counts=weights.counts[rows],
            old_logprobs=old[rows],
        )
        parts = policy_loss(leaf[rows], inputs, LOSS)
        torch.autograd.backward(parts.total / weights.counts.sum())
        sums.append(parts.metrics["loss/policy"])
    assert sum(total for total, _ in sums) / sum(count for _, count in sums) == pytest.approx(whole, abs=1e-6)
    assert leaf.grad is not None
    torch.testing.assert_close(leaf.grad, grad)


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
def test_a_row_without_tokens_is_not_counted(name: str) -> None:
    slot = {"type": name, "length": 4} if name == "constant" else {"type": name}
    mask, group = torch.tensor([[True, True], [False, False]]), torch.zeros(2, dtype=torch.int64)
    more = {"parameters": {"lambda": 1.0}}
    both = token_weights(slot, mask, group=group, **more)
    one = token_weights(slot, mask[:1], group=group[:1], **more)
    assert both.counts.sum() == one.counts.sum()
    assert both.weights[1].tolist() == [0.0, 0.0]


def test_without_old_logprobs_the_ratio_is_one_and_the_gradient_is_the_policy_gradient(
    batch: tuple[Tensor, ...],
) -> None:
    logprobs, _, mask, advantages = batch
    _, grad = run_loss(logprobs, None, mask, advantages, {"type": "seq_mean"})
    expected = -advantages[:, None] * token_weights({"type": "seq_mean"}, mask).weights / 6
    torch.testing.assert_close(grad, expected)


def test_clipped_tokens_have_no_gradient_and_are_counted() -> None:
    ratio = torch.tensor([[0.5, 0.9, 1.5], [0.5, 1.1, 1.5]])
    old = torch.full((2, 3), -1.0)
    leaf = (old + ratio.log()).requires_grad_()
    mask = torch.ones((2, 3), dtype=torch.bool)
    weights = token_weights({"type": "seq_mean"}, mask)
    inputs = LossInputs(
        mask=mask,
        advantages=torch.tensor([1.0, -1.0]),
        token_weights=weights.weights,
        counts=weights.counts,
        old_logprobs=old,
    )
    parts = policy_loss(leaf, inputs, LOSS)
    torch.autograd.backward(parts.total)
    assert leaf.grad is not None
    assert (leaf.grad == 0).tolist() == [[False, False, True], [True, False, False]]
    assert parts.metrics["policy/clip_high_share"] == (1.0, 6.0)
    assert parts.metrics["policy/clip_low_share"] == (1.0, 6.0)


def test_a_zero_advantage_gives_exactly_no_gradient(batch: tuple[Tensor, ...]) -> None:
    logprobs, old, mask, _ = batch
    _, grad = run_loss(logprobs, old, mask, torch.zeros(6), {"type": "seq_mean"})
    assert (grad == 0).all()


def test_a_huge_log_ratio_stays_finite() -> None:
    mask = torch.ones((1, 2), dtype=torch.bool)
    loss, grad = run_loss(
        torch.tensor([[0.0, 0.0]]),
        torch.tensor([[-500.0, 500.0]]),
        mask,
        torch.tensor([-1.0]),
        {"type": "seq_mean"},
    )
    assert math.isfinite(loss)
    assert grad.isfinite().all()


def test_a_kl_penalty_needs_the_reference() -> None:
    mask = torch.ones((1, 1), dtype=torch.bool)
    inputs = LossInputs(mask=mask, advantages=torch.ones(1), token_weights=mask.float(), counts=torch.ones(1))
    with pytest.raises(ValueError, match="reference_logprobs"):
        policy_loss(torch.zeros(1, 1), inputs, LOSS | {"kl": {"beta": 0.1, "estimator": "k2"}})


def test_the_error_for_an_unknown_type_names_the_valid_ones() -> None:
    with pytest.raises(KeyError, match="dr_grpo"):
        lookup(ADVANTAGES, {"type": "gspo"}, "advantage")
