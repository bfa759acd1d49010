"""Terms and state of the loss by numbers derived by hand, and errors for missing inputs."""

import math
from typing import Any

import pytest
import torch

from tests.algorithm.loss_batches import CLIP, draw, run, slots
from worker.algorithm.loss.aggregation import mean_over, token_weights
from worker.algorithm.loss.entropy import coefficient, controlled, quantile, top_entropy
from worker.algorithm.loss.hierarchy import hierarchy_correction
from worker.algorithm.loss.kl import kl_penalty
from worker.algorithm.loss.length_preference import length_factors
from worker.algorithm.loss.losses import LossInputs, policy_loss
from worker.algorithm.loss.mismatch import mismatch_weights, off_policy_keep
from worker.algorithm.loss.optimizer_batch import OptimizerBatch, batch_constants, loss_inputs, loss_reads
from worker.algorithm.loss.ratios import RATIOS
from worker.algorithm.loss.state import LAMBDA_BOUND, advance_loss, loss_parameters
from worker.algorithm.pairs import dpo_pairs

LAMBDA = {"type": "lambda", "r": 1 / 9, "initial": 0.0, "learning_rate": 0.1}
ADAPTIVE = {"type": "adaptive", "target": 0.5, "initial": 0.01, "step": 0.005, "maximum": 0.02}


# ── λ-GRPO ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_lambda_weighs_rows_inside_their_group_and_their_mean_is_one() -> None:
    lengths = torch.tensor([2, 6, 5, 5, 0])
    factors, _ = length_factors(lengths, torch.tensor([0, 0, 1, 1, 1]), 2.0, 0.5)
    # Group 0: z = ∓1, h = 0.5 and 1.5, h² = 0.25 and 2.25; group 1: equal lengths, and a row without tokens.
    share = 1 / (1 + math.exp(-2.0))
    assert factors.tolist() == pytest.approx([2 * (1 - share), 2 * share, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("exponent", [-4.0, -0.5, 0.0, 1.3, 4.0])
def test_lambda_slope_is_the_derivative_of_the_factor(exponent: float) -> None:
    lengths, group = torch.tensor([3, 9, 1, 0, 7, 2, 20]), torch.tensor([0, 0, 0, 0, 5, 5, 5])
    step = 1e-6
    above, below = (length_factors(lengths, group, exponent + sign * step, 1 / 9)[0] for sign in (1, -1))
    _, slope = length_factors(lengths, group, exponent, 1 / 9)
    torch.testing.assert_close(slope, (above - below) / (2 * step), rtol=0, atol=1e-8)


def test_lambda_stays_finite_where_one_row_is_far_shorter_than_very_many() -> None:
    lengths = torch.tensor([1] + [100] * 400)
    factors, slopes = length_factors(lengths, torch.zeros(401, dtype=torch.int64), -4.0, 1 / 9)
    assert factors.isfinite().all()
    assert slopes.isfinite().all()
    assert float(factors.sum()) == pytest.approx(401)


def test_lambda_descends_its_own_loss_and_is_part_of_the_state() -> None:
    loss = slots(average="lambda", kl={"beta": 0.1, "estimator": "k3"})
    batch = draw(3, 7, 5)
    values = []
    state: dict[str, Any] = {"parameters": {"lambda": 0.7}}
    result = run(batch, loss)
    values.append(float(result.value))
    state = advance_loss(loss, state, gradients=result.own)
    assert state == {"parameters": {"lambda": pytest.approx(0.7 - 0.1 * result.own["lambda"])}}
    constants = batch_constants(loss, OptimizerBatch(mask=batch.tensors["mask"], group=batch.group), state)
    parts = policy_loss(batch.tensors["logprobs"], loss_inputs(batch.tensors | constants), loss)
    assert float(parts.total / constants["counts"].sum()) < values[0]


def test_lambda_starts_where_the_slot_says_and_stays_within_its_bound() -> None:
    loss = {"aggregation": LAMBDA | {"initial": 3.9}}
    assert loss_parameters(loss, {}) == {"lambda": 3.9}
    assert advance_loss(loss, {}, gradients={"lambda": -1e6}) == {"parameters": {"lambda": LAMBDA_BOUND}}
    assert loss_parameters(slots(), {}) == {}
    assert advance_loss(slots(), {}, gradients={}) == {}


# ── Entropy ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_entropy_bonus_acts_only_at_or_below_its_target() -> None:
    assert coefficient(ADAPTIVE, {}) == 0.0
    low = controlled(ADAPTIVE, {}, 0.5)
    assert low == {"coefficient": pytest.approx(0.015), "measured": 0.5}
    assert coefficient(ADAPTIVE, low) == pytest.approx(0.015)
    high = controlled(ADAPTIVE, low, 0.51)
    assert high == {"coefficient": pytest.approx(0.01), "measured": 0.51}
    assert coefficient(ADAPTIVE, high) == 0.0


def test_entropy_coefficient_stays_within_its_bounds_and_waits_for_a_measurement() -> None:
    state = {"coefficient": 0.019, "measured": 0.1}
    assert controlled(ADAPTIVE, state, 0.1)["coefficient"] == 0.02
    assert controlled(ADAPTIVE, {"coefficient": 0.001, "measured": 9.0}, 9.0)["coefficient"] == 0.0
    assert controlled(ADAPTIVE, state, None) == state


def test_entropy_bonus_is_a_mean_over_tokens_whatever_the_average() -> None:
    for average in ("seq_mean", "token_mean", "constant", "seq_sum_mean"):
        batch, loss = draw(11, 6, 5), slots(average=average)
        mask = batch.tensors["mask"]
        bonus = loss | {"entropy": {"type": "static", "coefficient": 0.5}}
        gained = run(batch, loss).value - run(batch, bonus).value
        assert float(gained) == pytest.approx(0.5 * float(batch.tensors["entropies"][mask].mean()), rel=1e-5)


@pytest.mark.parametrize("q", [0.0, 0.123, 0.5, 0.8, 1.0])
def test_quantile_is_that_of_torch(q: float) -> None:
    values = torch.rand(37, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert quantile(values, q).item() == pytest.approx(torch.quantile(values, q).item(), abs=1e-12)


def test_quantile_at_a_value_is_that_value_exactly() -> None:
    values = torch.arange(11).double() / 7
    assert [quantile(values, 1 - share).item() for share in (0.1, 0.2, 0.3, 0.7)] == [
        values[index].item() for index in (9, 8, 7, 3)
    ]


def test_top_entropy_of_a_batch_without_tokens_is_empty() -> None:
    mask = torch.zeros((2, 3), dtype=torch.bool)
    assert not top_entropy(torch.ones(2, 3), mask, 0.2).any()


# ── Mismatch and drift ──────────────────────────────────────────────────────────────────────────────────────


def test_correction_weights_by_hand() -> None:
    old = torch.tensor([[0.0, 0.0, 9.0], [0.0, 0.0, 0.0]]).double()
    sampler = old - torch.tensor([[2.0, 0.25, 7.0], [0.5, torch.nan, 4.0]]).log()
    mask = torch.tensor([[True, True, False], [True, True, True]])

    def weights(mode: str, low: float | None = None) -> list[list[float]]:
        slot = {"mode": mode, "ratio_max": 1.5, "ratio_min": low}
        return mismatch_weights(slot, old, sampler, mask).tolist()

    rounded = pytest.approx
    assert weights("token_truncate") == [rounded([1.5, 0.25, 1.0]), rounded([0.5, 1.0, 1.5])]
    assert weights("token_mask") == [rounded([0.0, 0.25, 1.0]), rounded([0.5, 1.0, 0.0])]
    assert weights("token_mask", 0.4) == [rounded([0.0, 0.0, 1.0]), rounded([0.5, 1.0, 0.0])]
    assert weights("token_truncate", 0.4) == [rounded([1.5, 0.4, 1.0]), rounded([0.5, 1.0, 1.5])]
    assert weights("sequence_truncate") == [rounded([0.5]), rounded([1.5])]
    assert weights("sequence_mask") == [rounded([0.5]), rounded([0.0])]


def test_a_huge_gap_between_sampler_and_trainer_stays_finite() -> None:
    mask = torch.ones((1, 2), dtype=torch.bool)
    old, sampler = torch.zeros(1, 2), torch.full((1, 2), -5000.0)
    for mode in ("token_truncate", "sequence_truncate"):
        weights = mismatch_weights({"mode": mode, "ratio_max": 3.0}, old, sampler, mask)
        assert (weights == 3.0).all()


def test_off_policy_rows_are_left_out_only_where_the_advantage_is_negative() -> None:
    logprobs = torch.tensor([[-2.0, -2.0], [-2.0, -2.0], [-2.0, 50.0]])
    sampler = torch.tensor([[-1.0, torch.nan], [-1.0, -1.0], [-1.0, torch.nan]])
    mask = torch.tensor([[True, True], [True, True], [True, False]])
    keep = off_policy_keep(0.6, torch.tensor([[-1.0], [1.0], [-1.0]]), logprobs, sampler, mask)
    assert keep.tolist() == [[True], [True], [False]]  # means 0.5, 1 and 1


# ── DPO pairs ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pair_is_the_best_and_the_worst_row_of_a_group_with_unequal_rewards() -> None:
    gains = torch.tensor([0.3, 9.0, -0.2, 5.0, 5.0, 7.0])
    rewards = torch.tensor([1.0, 0.5, 0.0, 0.7, 0.7, 9.0])
    group = torch.tensor([4, 4, 4, 1, 1, 1])
    keep = torch.tensor([True, True, True, True, True, False])
    term = dpo_pairs(gains, rewards, group, keep, beta=0.5)
    assert term.count == 1
    assert term.losses.tolist() == pytest.approx([math.log(1 + math.exp(-0.25)), 0, 0, 0, 0, 0])
    push = 0.5 / (1 + math.exp(0.25))
    assert term.slopes.tolist() == pytest.approx([-push, 0, push, 0, 0, 0])


def test_pairs_have_value_and_gradient_of_dpo_though_their_rows_are_apart() -> None:
    batch = draw(8, 6, 4)
    batch.tensors["advantages"] = torch.zeros(6, dtype=torch.float64)
    batch.tensors["mask"] = torch.arange(4)[None, :] < torch.tensor([4, 1, 3, 2, 4, 2])[:, None]
    for name in ("logprobs", "reference_logprobs", "old_logprobs"):
        filled = -torch.rand((6, 4), generator=torch.Generator().manual_seed(len(name)), dtype=torch.float64)
        batch.tensors[name] = filled
    batch.rewards[:], batch.group[:] = torch.tensor([0.0, 1, 2, 0, 3, 3]), torch.tensor([0, 0, 0, 1, 1, 1])
    loss = slots(average="token_mean", aux={"type": "dpo_pair", "weight": 0.3, "beta": 0.4})
    result = run(batch, loss, [[0, 3], [1, 4], [2, 5]])
    leaf = batch.tensors["logprobs"].clone().requires_grad_()
    gains = ((leaf - batch.tensors["reference_logprobs"]) * batch.tensors["mask"]).sum(1)
    margins = torch.stack([gains[2] - gains[0], gains[4] - gains[3]])
    value = 0.3 * -torch.nn.functional.logsigmoid(0.4 * margins).mean()
    torch.autograd.backward(value)
    assert leaf.grad is not None
    torch.testing.assert_close(result.value, value.detach(), rtol=0, atol=1e-6)
    torch.testing.assert_close(result.gradients["logprobs"], leaf.grad, rtol=0, atol=1e-6)


# ── The rest ────────────────────────────────────────────────────────────────────────────────────────────────


def test_ratio_levels_by_hand() -> None:
    log_ratio = torch.tensor([[2.0, 4.0, 0.5, 0.0]]).double().log().nan_to_num(neginf=0.0)
    mask = torch.tensor([[True, True, True, False]])
    actions = torch.tensor([[0, 0, 1, -1]])
    ratios = {name: level(log_ratio, mask, actions)[0, :3].tolist() for name, level in RATIOS.items()}
    assert ratios["token"] == pytest.approx([2.0, 4.0, 0.5])
    assert ratios["sequence"] == pytest.approx([4 ** (1 / 3)] * 3)
    assert ratios["gspo_token"] == pytest.approx([4 ** (1 / 3)] * 3)
    assert ratios["arithmetic"] == pytest.approx([6.5 / 3] * 3)
    assert ratios["trajectory"] == pytest.approx([4.0] * 3)
    assert ratios["action"] == pytest.approx([8**0.5, 8**0.5, 0.5])


def test_token_mean_may_count_the_tokens_of_rows_left_out() -> None:
    mask = torch.tensor([[True, True], [False, False]])
    sampled = torch.tensor([[True, True], [True, False]])
    slot = {"type": "token_mean", "denominator": "all"}
    assert token_weights(slot, mask, sampled=sampled).counts.tolist() == [2.0, 1.0]
    assert token_weights({"type": "token_mean"}, mask, sampled=sampled).counts.tolist() == [2.0, 0.0]


def test_a_mean_of_its_own_divides_by_what_it_is_over() -> None:
    chosen, counts = torch.tensor([[True, False], [True, True]]), torch.tensor([4.0, 5.0])
    assert mean_over(chosen, counts).tolist() == [[3.0, 0.0], [3.0, 3.0]]
    assert mean_over(torch.zeros(2, dtype=torch.bool), torch.zeros(2)).tolist() == [0.0, 0.0]


def test_kl_of_a_sequence_is_the_estimate_of_its_mean_distance() -> None:
    logprobs, reference = torch.tensor([[0.2, -0.4, 0.0]]), torch.zeros(1, 3)
    mask = torch.tensor([[True, True, False]])
    kl = {"estimator": "k3", "level": "sequence"}
    penalty = kl_penalty(kl, logprobs, reference, mask, torch.ones(1, 3))
    assert penalty.tolist() == [[pytest.approx(math.exp(0.1) - 1 - 0.1, abs=1e-6)]]


def test_betas_of_rows_replace_the_one_of_all() -> None:
    batch = draw(5, 4, 3)
    one, both = (run(batch, slots(kl={"beta": beta, "estimator": "k3"})) for beta in (0.2, 0.7))
    batch.tensors["betas"] = torch.tensor([0.2, 0.7, 0.7, 0.2])
    mixed = run(batch, slots(kl={"beta": 0.0, "estimator": "k3"}))
    expected = torch.where(
        batch.tensors["betas"][:, None] < 0.5, one.gradients["logprobs"], both.gradients["logprobs"]
    )
    torch.testing.assert_close(mixed.gradients["logprobs"], expected, rtol=1e-5, atol=1e-7)


def test_hierarchy_stays_finite_where_executing_is_certain() -> None:
    logits, logprobs = (
        torch.tensor([3.0, 40.0]).requires_grad_(),
        torch.tensor([0.0, -200.0]).requires_grad_(),
    )
    correction = hierarchy_correction(logits, logprobs, torch.tensor([True, False]))
    torch.autograd.backward(correction.sum())
    assert correction.isfinite().all()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_what_a_loss_reads() -> None:
    assert loss_reads(slots()) == frozenset()
    assert loss_reads(slots({"type": "drpo"})) == {"sampler_logprobs"}
    assert loss_reads(slots(kl={"beta": 0.1, "estimator": "k2"})) == {"reference_logprobs"}
    assert loss_reads(slots(level="action", average="lambda")) == {"actions", "group"}
    assert loss_reads(slots(policy_tokens={"type": "top_entropy", "share": 0.2})) == {"entropies"}
    assert loss_reads(slots(aux={"type": "dpo_pair"})) == {
        "reference_logprobs",
        "logprobs",
        "group",
        "rewards",
    }
    assert loss_reads(slots(entropy=ADAPTIVE, aux={"type": "hierarchy"})) == {
        "entropy_gradient",
        "execute_scores",
    }


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "beta": (slots(kl={"beta": 0.1, "estimator": "k3"}), "reference_logprobs"),
    "mismatch": (
        slots(mismatch={"type": "importance", "mode": "token_mask", "ratio_max": 2.0}),
        "sampler_logprobs",
    ),
    "drpo": (slots({"type": "drpo"}), "sampler_logprobs"),
    "action": (slots(level="action"), "action of every token"),
    "entropy": (slots(entropy={"type": "static", "coefficient": 0.1}), "entropies"),
    "top_entropy": (slots(policy_tokens={"type": "top_entropy", "share": 0.2}), "entropies"),
    "hierarchy": (slots(aux={"type": "hierarchy", "weight": 0.1}), "execute_logits"),
    "dpo_pair": (slots(aux={"type": "dpo_pair", "weight": 0.1, "beta": 0.1}), "reference_logprobs"),
    "lambda": (slots(average="lambda"), "group"),
    "all": (
        slots() | {"aggregation": {"type": "token_mean", "denominator": "all"}},
        "all sampled tokens",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_tensor_is_named(name: str) -> None:
    loss, message = MISSING[name]
    mask = torch.ones((2, 3), dtype=torch.bool)
    with pytest.raises(ValueError, match=message):
        policy_loss(
            torch.zeros(2, 3),
            loss_inputs(
                {"mask": mask, "advantages": torch.ones(2)}
                | batch_constants(loss, OptimizerBatch(mask=mask), {})
            ),
            loss,
        )


def test_a_trained_token_without_an_action_is_refused() -> None:
    with pytest.raises(ValueError, match="belongs to no action"):
        RATIOS["action"](torch.zeros(1, 2), torch.ones((1, 2), dtype=torch.bool), torch.tensor([[0, -1]]))


def test_the_error_for_an_unknown_surrogate_names_the_valid_ones() -> None:
    mask = torch.ones((1, 1), dtype=torch.bool)
    inputs = LossInputs(mask=mask, advantages=torch.ones(1), token_weights=mask.float(), counts=torch.ones(1))
    with pytest.raises(KeyError, match="cispo, cispo_two_sided"):
        policy_loss(torch.zeros(1, 1), inputs, slots(CLIP | {"type": "trpo"}))
