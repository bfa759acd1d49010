"""PPO's credit and its critic's loss: numbers by hand, a naive implementation in float64, what holds for any."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.algorithm.scored_steps import Step, build, close, steps
from worker.algorithm.advantages import ADVANTAGES, value_targets
from worker.algorithm.advantages.gae import token_credit
from worker.algorithm.loss.value_loss import value_loss, value_metrics

quick = settings(max_examples=25, deadline=None)
shares = st.sampled_from([0.0, 0.5, 0.95, 1.0])


def three_tokens() -> Step:
    """Rewards 1 and 0, lengths 3 and 1, values 0.5 0.6 0.8 and 0.25."""
    step = build([1.0, 0.0], [0, 1], [True] * 2, [3, 1], 3, 0)
    values = torch.tensor([[0.5, 0.6, 0.8], [0.25, torch.nan, torch.nan]])
    return replace(step, rows=replace(step.rows, state_values=values))


def naive(step: Step, gamma: float, lam: float) -> list[list[float]]:
    """Σ_l (gamma·lam)^l · delta_{t+l}, each sum written out."""
    assert step.rows.state_values is not None
    credit = [[0.0] * step.rows.mask.shape[1] for _ in step.rewards]
    for row in step.keep.nonzero()[:, 0].tolist():
        columns = step.rows.mask[row].nonzero()[:, 0].tolist()
        values = [*step.rows.state_values[row, columns].double().tolist(), 0.0]
        rewards = [0.0] * len(columns)
        rewards[-1:] = [float(step.rewards[row])] * bool(columns)
        deltas = [rewards[t] + gamma * values[t + 1] - values[t] for t in range(len(columns))]
        for t, column in enumerate(columns):
            credit[row][column] = sum((gamma * lam) ** (u - t) * deltas[u] for u in range(t, len(columns)))
    return credit


# ── Credit ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_credit_by_hand() -> None:
    """gamma 1, lam 0.5: deltas 0.1, 0.2, 0.2; A_3 = 0.2, A_2 = 0.2 + 0.5·0.2, A_1 = 0.1 + 0.5·0.3. Row 2: -0.25."""
    step = three_tokens()
    credit = token_credit(step.rows, step.rewards, step.keep, gamma=1.0, lam=0.5)
    close(credit.advantages, torch.tensor([[0.25, 0.3, 0.2], [-0.25, 0, 0]]).double(), atol=1e-7)
    close(credit.returns, torch.tensor([[0.75, 0.9, 1.0], [0, 0, 0]]).double(), atol=1e-7)


def test_a_discount_acts_on_the_value_that_follows_too() -> None:
    """gamma 0.5, lam 1: deltas 0.3 - 0.5, 0.4 - 0.6, 1 - 0.8; A_3 = 0.2, A_2 = -0.2 + 0.1, A_1 = -0.2 - 0.05."""
    step = three_tokens()
    credit = ADVANTAGES["gae"](step.rows, step.rewards, step.keep, gamma=0.5, lam=1.0, whiten=False)
    close(credit[0], torch.tensor([-0.25, -0.1, 0.2]).double(), atol=1e-7)


def test_rewards_of_tokens_take_the_outcomes_place() -> None:
    """KL in the reward: -0.1 on each token and 1 on the last; gamma and lam 1 sum them up."""
    step = three_tokens()
    token_rewards = torch.tensor([[-0.1, -0.1, 0.9], [-0.3, torch.nan, torch.nan]]).double()
    rows = replace(step.rows, token_rewards=token_rewards)
    credit = token_credit(rows, step.rewards, step.keep, gamma=1.0, lam=1.0)
    close(credit.returns, torch.tensor([[0.7, 0.8, 0.9], [-0.3, 0, 0]]).double(), atol=1e-7)


def test_tokens_of_others_are_passed_over() -> None:
    """The middle token is a tool's: the first's next value is the third's."""
    step = three_tokens()
    mask = torch.tensor([[True, False, True], [True, False, False]])
    credit = token_credit(replace(step.rows, mask=mask), step.rewards, step.keep, gamma=1.0, lam=0.5)
    close(credit.advantages[0], torch.tensor([0.3 + 0.5 * 0.2, 0, 0.2]).double(), atol=1e-7)


@quick
@given(step=steps(), gamma=st.sampled_from([0.9, 1.0]), lam=shares)
def test_credit_is_that_of_sums_written_out(step: Step, gamma: float, lam: float) -> None:
    credit = token_credit(step.rows, step.rewards, step.keep, gamma=gamma, lam=lam)
    close(credit.advantages, torch.tensor(naive(step, gamma, lam), dtype=torch.float64), atol=1e-12)


@quick
@given(step=steps())
def test_with_lam_1_it_is_the_return_less_the_value_and_with_0_the_error_of_one_step(step: Step) -> None:
    mask = step.rows.mask & step.keep[:, None]
    whole = token_credit(step.rows, step.rewards, step.keep, gamma=1.0, lam=1.0)
    close(whole.returns, torch.where(mask, step.rewards[:, None], 0.0), atol=1e-12)
    values = torch.where(mask, step.rows.state_values, 0.0).double()  # type: ignore[arg-type]
    one = token_credit(step.rows, step.rewards, step.keep, gamma=1.0, lam=0.0).returns
    following = torch.cat([values[:, 1:], torch.zeros(len(values), 1)], 1)
    last = mask & (step.rows.lengths[:, None] - 1 == torch.arange(mask.shape[1]))
    close(one, torch.where(last, step.rewards[:, None], following * mask), atol=1e-12)


@quick
@given(step=steps(), lam=shares)
def test_a_critic_that_is_right_leaves_nothing_to_learn(step: Step, lam: float) -> None:
    exact_values = step.rewards[:, None].expand(step.rows.mask.shape)
    rows = replace(step.rows, state_values=torch.where(step.rows.mask, exact_values, torch.nan))
    credit = token_credit(rows, step.rewards, step.keep, gamma=1.0, lam=lam)
    close(credit.advantages, torch.zeros_like(credit.advantages), atol=1e-12)
    close(ADVANTAGES["gae"](rows, step.rewards, step.keep), torch.zeros_like(credit.advantages))


@quick
@given(step=steps(), lam=shares)
def test_whitening_is_over_all_selected_tokens(step: Step, lam: float) -> None:
    plain = ADVANTAGES["gae"](step.rows, step.rewards, step.keep, lam=lam, whiten=False)
    credit = ADVANTAGES["gae"](step.rows, step.rewards, step.keep, lam=lam)
    mask = step.rows.mask & step.keep[:, None]
    tokens = plain[mask]
    if len(tokens) > 1 and tokens.std() > 1e-3:
        expected = (tokens - tokens.mean()) / (tokens.var() + 1e-8).sqrt()
        close(credit[mask], expected, atol=1e-7)
    close(credit[~mask], torch.zeros_like(credit[~mask]))


def test_only_an_estimator_that_reads_a_critic_has_something_to_teach_it() -> None:
    step = three_tokens()
    slot = {"type": "gae", "gamma": 1.0, "lam": 0.5, "whiten": True}
    targets = value_targets(slot, step.rows, step.rewards, step.keep)
    assert targets is not None
    close(targets[0], torch.tensor([0.75, 0.9, 1.0]).double(), atol=1e-7)
    assert value_targets({"type": "grpo"}, step.rows, step.rewards, step.keep) is None
    with pytest.raises(ValueError, match="state_values"):
        ADVANTAGES["gae"](replace(step.rows, state_values=None), step.rewards, step.keep)


# ── The critic's loss ───────────────────────────────────────────────────────────────────────────────────────

MASK = torch.tensor([[True, True, True], [True, False, False]])
OLD = torch.tensor([[0.0, 0.0, 0.0], [0.5, torch.nan, torch.nan]])
RETURNS = torch.tensor([[1.0, 1.0, -1.0], [0.5, torch.nan, torch.nan]])


def moved() -> Tensor:
    """From OLD by 0.1, 0.5, 0.5 and 0; padding is garbage."""
    return torch.tensor([[0.1, 0.5, 0.5], [0.5, 9.0, torch.nan]], requires_grad=True)


def test_the_clipped_loss_by_hand() -> None:
    """Range 0.2. Token 1 is inside: 0.81. Token 2 has gone too far towards its return: (0.2 - 1)² in place of 0.25,
    without gradient. Token 3 went the wrong way: its own 2.25 is larger than 1.44. Token 4 is right."""
    values = moved()
    parts = value_loss(values, RETURNS, OLD, MASK, clip_range=0.2)
    assert parts.total.item() == pytest.approx(0.5 * (0.81 + 0.64 + 2.25 + 0))
    assert parts.metrics["critic/loss"] == (pytest.approx(1.85), 4.0)
    assert parts.metrics["critic/clip_share"] == (1.0, 4.0)
    parts.total.backward()
    torch.testing.assert_close(values.grad, torch.tensor([[-0.9, 0.0, 1.5], [0.0, 0.0, 0.0]]))


def test_without_a_range_it_is_half_the_square() -> None:
    values = moved()
    parts = value_loss(values, RETURNS, OLD, MASK)
    assert parts.total.item() == pytest.approx(0.5 * (0.81 + 0.25 + 2.25))
    assert parts.metrics["critic/clip_share"] == (0.0, 4.0)
    parts.total.backward()
    torch.testing.assert_close(values.grad, torch.tensor([[-0.9, -0.5, 1.5], [0.0, 0.0, 0.0]]))


@quick
@given(seed=st.integers(0, 2**16), clip_range=st.sampled_from([None, 0.05, 0.2, 10.0]))
def test_parts_of_a_batch_add_up_and_the_bound_only_adds(seed: int, clip_range: float | None) -> None:
    generator = torch.Generator().manual_seed(seed)
    values, returns, old = torch.randn((3, 4, 5), generator=generator, dtype=torch.float64)
    mask = torch.rand((4, 5), generator=generator) < 0.7
    whole = value_loss(values, returns, old, mask, clip_range=clip_range)
    parts = [
        value_loss(values[rows], returns[rows], old[rows], mask[rows], clip_range=clip_range)
        for rows in (slice(0, 1), slice(1, 4))
    ]
    close(sum((part.total for part in parts), torch.zeros(())).double(), whole.total)
    for key, (total, count) in whole.metrics.items():
        assert sum(part.metrics[key][0] for part in parts) == pytest.approx(total)
        assert sum(part.metrics[key][1] for part in parts) == count
    assert whole.total >= value_loss(values, returns, old, mask).total - 1e-12


def test_explained_variance_by_hand() -> None:
    """Returns 1, 1, -1, 0.5 around 0.375; what is left of them after values 0, 0, -1, 0.5: 1, 1, 0, 0."""
    values = torch.tensor([[0.0, 0.0, -1.0], [0.5, torch.nan, torch.nan]])
    metrics = value_metrics(values, RETURNS, MASK)
    spread, left = 2 * 0.625**2 + 1.375**2 + 0.125**2, 4 * 0.25
    total, count = metrics["critic/explained_variance"]
    assert total / count == pytest.approx(1 - left / spread)
    assert metrics["critic/return_mean"] == (pytest.approx(1.5), 4.0)
    assert metrics["critic/value_mean"] == (pytest.approx(-0.5), 4.0)


@pytest.mark.parametrize(("values", "share"), [(RETURNS, 1.0), (RETURNS + 3, 1.0), (-RETURNS, -3.0)])
def test_explained_variance_of_a_critic_that_is_right_shifted_or_upside_down(
    values: Tensor, share: float
) -> None:
    total, count = value_metrics(values, RETURNS, MASK)["critic/explained_variance"]
    assert total / count == pytest.approx(share)


@pytest.mark.parametrize("mask", [MASK, torch.zeros_like(MASK)])
def test_explained_variance_of_returns_that_are_all_the_same_is_not_defined(mask: Tensor) -> None:
    metrics = value_metrics(OLD, torch.full_like(OLD, 0.1), mask)
    assert metrics["critic/explained_variance"] == (0.0, 0.0)
