"""Properties of all advantage estimators, for random numbers."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithm.scored_steps import SLOTS, Step, build, close, group_spread, steps, take

OWN_SIGNAL = {"process", "gagpo"}
"""They read steps or turns in place of outcomes."""
CRITIC = {"gae", "gae.plain"}
"""They compare with a critic's values, whatever the other completions got."""
BATCH = {"reinforce_pp", "reinforce_pp_baseline"}
"""Whitening over tokens of the batch moves groups without a difference too, as published."""
RELATIVE = sorted(
    set(SLOTS)
    - OWN_SIGNAL
    - CRITIC
    - {"identity", "length_corrected", "gtpo", "gtpo.joint", "grpo_s", "grpo_s.joint"}
)
"""Only differences of rewards inside a group (or batch) count."""

quick = settings(max_examples=20, deadline=None)


@pytest.mark.parametrize("name", sorted(SLOTS))
@quick
@given(step=steps())
def test_numbers_are_finite_and_rows_outside_get_exactly_zero(name: str, step: Step) -> None:
    credit = step.credit(name)
    assert credit.dtype == torch.float64
    assert not credit.requires_grad
    assert bool(credit.isfinite().all())
    assert bool((credit[~step.keep] == 0).all())
    if credit.dim() == 2:
        assert bool((credit[~step.rows.mask] == 0).all())


@pytest.mark.parametrize("name", sorted(SLOTS))
@quick
@given(step=steps())
def test_rows_outside_take_no_part(name: str, step: Step) -> None:
    """Ragged groups, as selection leaves them: the same numbers as if the other rows had never been there."""
    chosen = torch.nonzero(step.keep).squeeze(1)
    if not len(chosen):
        return
    inside = torch.isin(step.rows.steps.row, chosen)  # type: ignore[union-attr]
    alone = Step(take(step.rows, chosen, inside), step.rewards[chosen], step.keep[chosen])
    close(step.credit(name)[chosen], alone.credit(name))


@pytest.mark.parametrize("name", sorted(SLOTS))
@quick
@given(step=steps(), seed=st.integers(0, 99))
def test_the_order_of_rows_and_padding_change_nothing(name: str, step: Step, seed: int) -> None:
    order = torch.randperm(len(step.rewards), generator=torch.Generator().manual_seed(seed))
    every = torch.ones(2 * len(order), dtype=torch.bool)
    rows = take(step.rows, order, every)
    pad = torch.full((len(order), 3), torch.nan)
    wide = replace(
        rows,
        mask=torch.cat([rows.mask, torch.zeros((len(order), 3), dtype=torch.bool)], 1),
        old_logprobs=torch.cat([rows.old_logprobs, pad], 1),  # type: ignore[list-item]
        entropies=torch.cat([rows.entropies, pad], 1),  # type: ignore[list-item]
        state_values=torch.cat([rows.state_values, pad], 1),  # type: ignore[list-item]
    )
    reordered = Step(wide, step.rewards[order], step.keep[order]).credit(name)
    expected = step.credit(name)[order]
    close(reordered if reordered.dim() == 1 else reordered[:, :5], expected)
    assert reordered.dim() == 1 or bool((reordered[:, 5:] == 0).all())


@pytest.mark.parametrize("name", RELATIVE)
@quick
@given(step=steps(), shift=st.sampled_from([-2.0, 0.5, 100.0]))
def test_a_constant_added_to_all_rewards_changes_nothing(name: str, step: Step, shift: float) -> None:
    moved = replace(step, rewards=step.rewards + shift)
    close(moved.credit(name), step.credit(name), atol=1e-7)


@pytest.mark.parametrize("name", ["dr_grpo", "rloo", "lampo.uniform", "lampo", "opo", "passk_max.plain"])
@quick
@given(step=steps(), scale=st.sampled_from([0.25, 3.0, 1000.0]))
def test_scaled_rewards_scale_what_is_not_normalised(name: str, step: Step, scale: float) -> None:
    scaled = replace(step, rewards=step.rewards * scale)
    close(scaled.credit(name), step.credit(name) * scale)


@pytest.mark.parametrize("name", ["grpo", "grpo_batch_std", "eda", "reinforce_pp_baseline.sequence"])
@quick
@given(step=steps(), scale=st.sampled_from([3.0, 1000.0]))
def test_scaled_rewards_change_what_is_normalised_by_eps_only(name: str, step: Step, scale: float) -> None:
    """The deviation of differing rewards of hundredths is 0.0018 at least here, so that eps weighs up to 6 %."""
    plain, scaled = step.credit(name), replace(step, rewards=step.rewards * scale).credit(name)
    torch.testing.assert_close(scaled, plain, rtol=0.06, atol=1e-9)
    assert bool((scaled.abs() >= plain.abs() - 1e-9).all())


@pytest.mark.parametrize(
    "name", sorted(set(SLOTS) - OWN_SIGNAL - CRITIC - BATCH - {"identity", "length_corrected"})
)
@quick
@given(step=steps())
def test_a_group_without_a_difference_gets_exactly_zero(name: str, step: Step) -> None:
    same = group_spread(step) == 0
    assert bool((step.credit(name)[same] == 0).all())


@pytest.mark.parametrize("name", sorted(set(SLOTS) - OWN_SIGNAL - CRITIC - {"identity", "length_corrected"}))
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, 1e6, -1e-9])
def test_a_batch_without_a_difference_gets_exactly_zero(name: str, value: float) -> None:
    step = build([value] * 7, [4] * 4 + [5] * 3, [True] * 7, [1, 2, 3, 4, 5, 1, 2], 5, 0)
    assert bool((step.credit(name) == 0).all())


def test_rewards_that_differ_by_rounding_only_are_no_difference() -> None:
    step = build([0.1 + 0.2, 0.3, 0.3, 0.1 * 3], [0] * 4, [True] * 4, [1, 2, 3, 4], 5, 0)
    for name in sorted(set(SLOTS) - OWN_SIGNAL - CRITIC - {"identity", "length_corrected"}):
        assert bool((step.credit(name) == 0).all()), name


@quick
@given(step=steps())
def test_rloo_is_dr_grpo_times_g_over_g_minus_1_and_lampo_with_equal_weights(step: Step) -> None:
    mask = step.keep.double()
    count = (step.rows.group[:, None] == step.rows.group[None, :]).double() @ mask
    factor = torch.where(count > 1, count / (count - 1).clamp(min=1), 0.0)
    close(step.credit("rloo"), step.credit("dr_grpo") * factor)
    close(step.credit("lampo.uniform"), step.credit("rloo"))


@quick
@given(step=steps(keep_all=True))
def test_lampo_weighs_pairs_between_nothing_and_rloo(step: Step) -> None:
    """A weight below 1 for every pair: the best row's advantage has RLOO's sign and is smaller."""
    best = (step.rewards == step.rewards.max()) & (group_spread(step) > 0)
    for name in ("lampo", "lampo.confidence"):
        credit, bound = step.credit(name)[best], step.credit("rloo")[best]
        assert bool(((credit > 0) & (credit < bound)).all())


@quick
@given(step=steps(keep_all=True))
def test_two_completions_get_opposite_advantages(step: Step) -> None:
    pair = build([*step.rewards[:2].tolist()], [0, 0], [True] * 2, [2, 3], 5, 0)
    for name in ("grpo", "grpo.population", "dr_grpo", "rloo", "lampo"):
        one, other = pair.credit(name).tolist()
        assert one == pytest.approx(-other, abs=1e-12), name
    if pair.rewards[0] != pair.rewards[1]:
        ratio = pair.credit("grpo.population")[0] / pair.credit("grpo")[0]
        assert ratio.item() == pytest.approx(math.sqrt(2), rel=0.05)
