"""Properties of all losses, for random numbers (specification, E.1)."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.algorithm.loss_batches import (
    CLIP,
    LEAVES,
    LEVELS,
    SURROGATES,
    TRAINED_WITHOUT_ADVANTAGE,
    VARIANTS,
    LossBatch,
    Ran,
    draw,
    run,
    slots,
)
from worker.algorithm.loss.losses import policy_loss
from worker.algorithm.loss.optimizer_batch import loss_inputs

BATCHES = {"seed": st.integers(0, 2**31), "rows": st.integers(1, 7), "width": st.integers(1, 6)}
few = settings(max_examples=12, deadline=None)


def agree(actual: Ran, expected: Ran) -> None:
    """Sums of float32 weights taken in another order differ by rounding only."""
    torch.testing.assert_close(actual.value, expected.value, rtol=1e-5, atol=1e-7)
    for name in LEAVES:
        torch.testing.assert_close(actual.gradients[name], expected.gradients[name], rtol=1e-5, atol=1e-7)
    assert actual.own == pytest.approx(expected.own, rel=1e-5, abs=1e-7)
    assert actual.metrics.keys() == expected.metrics.keys()
    for name, pair in expected.metrics.items():
        assert actual.metrics[name] == pytest.approx(pair, rel=1e-5, abs=1e-6), name


@pytest.mark.parametrize("name", VARIANTS)
@few
@given(**BATCHES)
def test_micro_batches_add_up(name: str, seed: int, rows: int, width: int) -> None:
    batch = draw(seed, rows, width)
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed)).tolist()
    cut = seed % rows
    parts = [part for part in (order[:cut], order[cut : cut + 1], order[cut + 1 :]) if part]
    agree(run(batch, VARIANTS[name], parts), run(batch, VARIANTS[name]))


@pytest.mark.parametrize("name", VARIANTS)
@few
@given(**BATCHES)
def test_the_order_of_rows_is_nothing(name: str, seed: int, rows: int, width: int) -> None:
    batch = draw(seed, rows, width)
    # Among equal rewards a pair takes the first row, so that pairs do depend on the order there.
    batch = LossBatch(batch.tensors, torch.arange(rows).double(), batch.group)
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))
    actual, back = run(batch.take(order.tolist()), VARIANTS[name]), torch.argsort(order)
    gradients = {leaf: actual.gradients[leaf][back] for leaf in LEAVES}
    agree(Ran(actual.value, gradients, actual.own, actual.metrics), run(batch, VARIANTS[name]))


@pytest.mark.parametrize("name", VARIANTS)
@few
@given(**BATCHES)
def test_padding_is_nothing(name: str, seed: int, rows: int, width: int) -> None:
    batch = draw(seed, rows, width)

    def wider(tensor: Tensor) -> Tensor:
        fill: Any = {torch.bool: False, torch.int64: -1}.get(tensor.dtype, torch.nan)
        return torch.cat([tensor, torch.full((rows, 3), fill, dtype=tensor.dtype)], 1)

    tensors = {key: wider(value) if value.dim() == 2 else value for key, value in batch.tensors.items()}
    padded = run(LossBatch(tensors, batch.rewards, batch.group), VARIANTS[name])
    for leaf in LEAVES:
        assert (padded.gradients[leaf][:, width:] == 0).all()
        assert (padded.gradients[leaf][:, :width][~batch.tensors["mask"]] == 0).all()
    cut = {leaf: padded.gradients[leaf][:, :width] for leaf in LEAVES}
    agree(Ran(padded.value, cut, padded.own, padded.metrics), run(batch, VARIANTS[name]))


@pytest.mark.parametrize("name", VARIANTS)
@few
@given(**BATCHES)
def test_only_the_policy_gets_gradient(name: str, seed: int, rows: int, width: int) -> None:
    """Not advantages, not what other policies said."""
    batch, loss = draw(seed, rows, width), VARIANTS[name]
    tensors = batch.tensors | batch.constants(loss)
    constant = ("advantages", "old_logprobs", "reference_logprobs", "sampler_logprobs")
    for key in (*LEAVES, *constant):
        tensors[key] = tensors[key].clone().requires_grad_()
    total = policy_loss(tensors["logprobs"], loss_inputs(tensors), loss).total
    torch.autograd.backward(total)
    assert total.isfinite()
    assert tensors["logprobs"].grad is not None
    for key in LEAVES:
        gradient = tensors[key].grad
        assert gradient is None or gradient.isfinite().all()
    assert all(tensors[key].grad is None for key in constant)


@pytest.mark.parametrize(
    "name", [name for name in VARIANTS if not name.startswith(TRAINED_WITHOUT_ADVANTAGE)]
)
@few
@given(**BATCHES)
def test_without_advantage_there_is_exactly_no_gradient(name: str, seed: int, rows: int, width: int) -> None:
    batch = draw(seed, rows, width)
    batch.tensors["advantages"] = torch.zeros(rows, dtype=torch.float64)
    result = run(batch, VARIANTS[name])
    assert all((gradient == 0).all() for gradient in result.gradients.values())


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", SURROGATES)
@few
@given(**BATCHES)
def test_at_ratio_one_the_gradient_is_minus_the_advantage(
    name: str, level: str, seed: int, rows: int, width: int
) -> None:
    batch, loss = draw(seed, rows, width, on_policy=True), slots(SURROGATES[name], level=level)
    constants = batch.constants(loss)
    weights = constants["token_weights"] / (constants["counts"].sum() or 1.0)
    if level == "trajectory" and SURROGATES[name]["type"] in ("ppo_clip", "upper_only", "sapo"):
        weights = (
            weights * batch.tensors["mask"].sum(1)[:, None]
        )  # W_i is a product: each token moves it whole
    expected = -batch.tensors["advantages"][:, None] * weights
    torch.testing.assert_close(run(batch, loss).gradients["logprobs"], expected, rtol=1e-5, atol=1e-7)


@few
@given(**BATCHES)
def test_the_first_update_needs_no_old_policy(seed: int, rows: int, width: int) -> None:
    batch, loss = draw(seed, rows, width, on_policy=True), slots()
    expected = run(batch, loss)
    del batch.tensors["old_logprobs"]
    agree(run(batch, loss), expected)


@few
@given(**BATCHES)
def test_clipped_tokens_have_no_gradient_under_a_clip_and_some_under_cispo_and_sapo(
    seed: int, rows: int, width: int
) -> None:
    batch = draw(seed, rows, width, spread=1.0)
    mask, advantages = batch.tensors["mask"], batch.tensors["advantages"][:, None]
    gap = torch.where(mask, batch.tensors["logprobs"] - batch.tensors["old_logprobs"], 0.0)
    ratio = gap.exp()
    clipped = mask & (((ratio > 1.28) & (advantages > 0)) | ((ratio < 0.8) & (advantages < 0)))
    gradient = run(batch, slots(CLIP)).gradients["logprobs"]
    assert (gradient[clipped] == 0).all()
    assert (gradient[mask & ~clipped] != 0).all()
    metrics = run(batch, slots(CLIP)).metrics
    assert metrics["policy/clip_low_share"][0] + metrics["policy/clip_high_share"][0] == float(clipped.sum())
    for soft in ({"type": "cispo", "ratio_cap": 1.28}, {"type": "cispo_two_sided"}, {"type": "sapo"}):
        # In float32 SAPO's gate rounds to 0 at ratios above 16.
        assert (run(batch, slots(soft)).gradients["logprobs"][mask & (ratio < 10)] != 0).all()


EQUAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dual clip = delta": (slots(CLIP | {"delta": 1.5}), slots(CLIP | {"dual_clip": 1.5})),
    "GSPO = GSPO-token": (slots(level="sequence"), slots(level="gspo_token")),
    "lambda 0 = token mean": (
        slots(average="lambda") | {"aggregation": {"type": "lambda", "r": 1 / 9}},
        slots(average="token_mean"),
    ),
    "two-sided CISPO without a lower bound = CISPO": (
        slots({"type": "cispo_two_sided", "eps_low": 1.0, "eps_high": 0.3}),
        slots({"type": "cispo", "ratio_cap": 1.3}),
    ),
    "REINFORCE with weights = CISPO without a cap": (
        slots({"type": "reinforce", "weighted": True}),
        slots({"type": "cispo", "ratio_cap": 1e30}),
    ),
    "all tokens = top entropy of all": (slots(), slots(policy_tokens={"type": "top_entropy", "share": 1.0})),
    "no off-policy mask = one that nothing reaches": (
        slots(),
        slots(off_policy_mask={"type": "sequence", "delta": 1e9}),
    ),
    "truncation that nothing reaches = mask that nothing reaches": (
        slots(mismatch={"type": "importance", "mode": "token_truncate", "ratio_max": 1e9}),
        slots(mismatch={"type": "importance", "mode": "token_mask", "ratio_max": 1e9}),
    ),
    "DRPO that hardly pulls = a clip that nothing reaches": (
        slots({"type": "drpo", "delta": 1e12}),
        slots({"type": "ppo_clip", "eps_low": 1.0, "eps_high": 1e9}),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
@few
@given(**BATCHES)
def test_equalities(name: str, seed: int, rows: int, width: int) -> None:
    batch = draw(seed, rows, width)
    if name.startswith("DRPO"):
        batch.tensors["sampler_logprobs"] = batch.tensors["old_logprobs"]
    first, second = (run(batch, _at_lambda_zero(loss)) for loss in EQUAL[name])
    torch.testing.assert_close(first.value, second.value, rtol=1e-5, atol=1e-7)
    for leaf in LEAVES:
        torch.testing.assert_close(first.gradients[leaf], second.gradients[leaf], rtol=1e-5, atol=1e-7)


def _at_lambda_zero(loss: dict[str, Any]) -> dict[str, Any]:
    """The state of these batches holds λ = 0.7; r = 0 makes every base of the power 1, as λ = 0 does."""
    if loss["aggregation"]["type"] != "lambda":
        return loss
    return loss | {"aggregation": loss["aggregation"] | {"r": 0.0, "initial": 0.0, "learning_rate": 0.0}}


@few
@given(**BATCHES)
def test_one_action_is_a_sequence_and_an_action_per_token_is_a_token(
    seed: int, rows: int, width: int
) -> None:
    batch = draw(seed, rows, width)
    mask = batch.tensors["mask"]
    for level, actions in (
        ("sequence", torch.zeros_like(mask, dtype=torch.int64)),
        ("token", torch.arange(width).expand(rows, width)),
    ):
        batch.tensors["actions"] = torch.where(mask, actions, -1)
        agree(run(batch, slots(level="action")), run(batch, slots(level=level)))


@few
@given(**BATCHES)
def test_kl_of_sequences_is_that_of_tokens_where_a_row_has_one_distance(
    seed: int, rows: int, width: int
) -> None:
    batch = draw(seed, rows, width)
    distance = torch.linspace(-1, 1, rows, dtype=torch.float64)[:, None]
    batch.tensors["reference_logprobs"] = batch.tensors["logprobs"] - distance
    token, sequence = (
        run(batch, slots(kl={"beta": 0.5, "estimator": "k3", "level": level}))
        for level in ("token", "sequence")
    )
    torch.testing.assert_close(token.value, sequence.value, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        token.gradients["logprobs"], sequence.gradients["logprobs"], rtol=1e-5, atol=1e-6
    )
