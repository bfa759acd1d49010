"""Advantage estimators on numbers derived by hand, and in the specification; published ones are in `test_vectors`."""

import math
from dataclasses import replace
from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError

from reinforge.algorithm.advantage import Advantage, ReinforcePpBaselineAdvantage
from reinforge.spec import JobSpec
from tests.algorithm.scored_steps import SLOTS, build, close
from worker.algorithm.advantages import ADVANTAGES, advantages, observe
from worker.algorithm.advantages.turns import turn_credit
from worker.algorithm.rows import Steps, Turns

MODELS = {model.model_fields["type"].default: model for model in get_args(get_args(Advantage)[0])}
READS_OLD_POLICY = {name for name, model in MODELS.items() if model.reads_old_policy}


def test_hard_and_easy_groups_weigh_the_same_after_normalisation() -> None:
    """Pass rates 0.8 and 0.2: the advantages are each other's negatives."""
    easy = build([1.0] * 8 + [0.0] * 2, [0] * 10, [True] * 10, [1] * 10, 5, 0).credit("grpo")
    hard = build([0.0] * 8 + [1.0] * 2, [0] * 10, [True] * 10, [1] * 10, 5, 0).credit("grpo")
    close(easy, -hard)


def test_a_tiny_spread_stays_bounded() -> None:
    """Deviation 1e-5 counts as a difference; eps keeps the advantage at a tenth of what it would be."""
    step = build([0.0, 1e-5 * math.sqrt(2)], [0, 0], [True] * 2, [1, 1], 5, 0)
    assert step.credit("grpo")[1].item() == pytest.approx(1e-5 / math.sqrt(2) / 1.1e-4)


def test_opo_weighs_the_baseline_by_tokens_and_length_correction_divides_by_them() -> None:
    step = build([1.0, 0.0], [0, 0], [True] * 2, [1, 3], 5, 0)
    assert step.credit("opo").tolist() == pytest.approx([0.75, -0.25])
    both_right = build([1.0, 1.0], [0, 0], [True] * 2, [1, 4], 5, 0)
    assert both_right.credit("length_corrected").tolist() == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)])


def test_nobody_is_best_when_two_are() -> None:
    step = build([1.0, 1.0, 0.0, 0.5, 0.2, 0.2], [0, 0, 0, 1, 1, 1], [True] * 6, [1] * 6, 5, 0)
    assert step.credit("passk_max.plain").tolist() == pytest.approx([0, 0, 0, 0.3, 0, 0])


def test_return_to_go_skips_tokens_of_others_and_discounts_by_own_ones() -> None:
    """Token rewards 1, (tool), 2 with gamma 0.5: returns 2 and 2; the other row has 0 and 4."""
    step = build([3.0, 4.0], [0, 1], [True] * 2, [3, 2], 3, 0)
    mask = torch.tensor([[True, False, True], [True, True, False]])
    token_rewards = torch.tensor([[1.0, 99.0, 2.0], [-2.0, 4.0, 99.0]], dtype=torch.float64)
    rows = replace(step.rows, mask=mask, token_rewards=token_rewards)
    credit = ADVANTAGES["reinforce_pp"](rows, step.rewards, step.keep, gamma=0.5)
    deviation = math.sqrt(8 / 3)  # of 2, 2, 0, 4
    expected = [[0.0, 0.0, 0.0], [-2 / deviation, 2 / deviation, 0.0]]
    torch.testing.assert_close(credit, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-6)


def test_the_wrong_step_gets_the_negative_advantage() -> None:
    """Two rows of three tokens; the second row's middle step is wrong. Steps 1 1 1, 1 0 1: mean 5/6."""
    step = build([1.0, 0.0], [0, 0], [True] * 2, [3, 3], 3, 0)
    scored = Steps(
        row=torch.tensor([0, 0, 0, 1, 1, 1]),
        end=torch.tensor([1, 2, 3, 1, 2, 3]),
        values=torch.tensor([1.0, 1, 1, 1, 0, 1], dtype=torch.float64),
    )
    rows = replace(step.rows, steps=scored)
    credit = ADVANTAGES["process"](rows, step.rewards, step.keep, std="population", eps=0.0)
    small, large = (1 / 6) / math.sqrt(5 / 36), (5 / 6) / math.sqrt(5 / 36)
    assert credit[0].tolist() == pytest.approx([3 * small, 2 * small, small])
    assert credit[1].tolist() == pytest.approx([2 * small - large, small - large, small])


def test_tokens_after_the_last_step_and_rows_without_steps_get_nothing() -> None:
    step = build([1.0, 0.0, 0.0], [0, 0, 0], [True] * 3, [5, 5, 5], 5, 0)
    scored = Steps(
        row=torch.tensor([0, 1]), end=torch.tensor([3, 9]), values=torch.tensor([1.0, 0.0]).double()
    )
    credit = ADVANTAGES["process"](replace(step.rows, steps=scored), step.rewards, step.keep)
    assert (credit != 0).tolist() == [[True] * 3 + [False] * 2, [True] * 5, [False] * 5]


def test_entropy_moves_credit_towards_uncertain_tokens_of_right_rows() -> None:
    step = build([1.0, 1.0, 0.0, 0.0], [0] * 4, [True] * 4, [2] * 4, 2, 0)
    rows = replace(step.rows, entropies=torch.tensor([[2.0, 0.1], [0.1, 2.0], [2.0, 0.1], [0.1, 2.0]]))
    for kind in ("separate", "joint"):
        credit = ADVANTAGES["gtpo"](rows, step.rewards, step.keep, norm_scope=kind)
        assert credit[0, 0] > credit[0, 1]
        assert credit[2, 0] > credit[2, 1], "an uncertain token of a wrong row is blamed less"
    joint = ADVANTAGES["gtpo"](rows, step.rewards, step.keep, norm_scope="joint")
    assert bool((joint[:2] > 0).all())
    assert bool((joint[2:] < 0).all())


def test_certain_tokens_have_no_entropy_and_still_finite_credit() -> None:
    step = build([1.0, 1.0, 0.0, 0.0], [0] * 4, [True] * 4, [2] * 4, 2, 0)
    rows = replace(step.rows, entropies=torch.zeros((4, 2)))
    for name in ("eda", "gtpo", "gtpo.joint", "grpo_s", "grpo_s.joint"):
        credit = advantages(SLOTS[name], rows, step.rewards, step.keep)
        assert bool(credit.isfinite().all()), name
    close(advantages({"type": "eda"}, rows, step.rewards, step.keep), step.credit("grpo"))


def test_a_confident_row_is_scaled_at_most_ten_times() -> None:
    step = build([1.0] + [0.0] * 19, [0] * 20, [True] * 20, [1] * 20, 1, 0)
    rows = replace(step.rows, entropies=torch.tensor([[0.001]] + [[2.0]] * 19))
    credit = advantages({"type": "eda"}, rows, step.rewards, step.keep)
    assert (credit / step.credit("grpo"))[0].item() == pytest.approx(10.0)


def test_states_that_never_repeat_fall_back_to_outcomes() -> None:
    step = build([1.0, 0.0, 1.0, 0.0], [0, 0, 1, 1], [True] * 4, [2] * 4, 2, 0)
    turns = replace(
        step.rows.turns,  # type: ignore[type-var]
        rewards=torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]).double(),
        states=torch.tensor([0, 1, 2, 3, 4, 5, 4, 6]),
    )
    rows = replace(step.rows, turns=turns)
    assert turn_credit(rows, turns, step.keep).advantages[:4].tolist() == pytest.approx([0.0] * 4)
    credit = advantages({"type": "gagpo"}, rows, step.rewards, step.keep)
    grpo = step.credit("grpo")
    assert credit[:2].tolist() == [[value] * 2 for value in grpo[:2].tolist()]
    assert credit[2, 0] > 0 > credit[3, 0]
    assert credit[2, 1] != grpo[2]


def test_tokens_between_turns_have_no_credit() -> None:
    step = build([1.0, 0.0], [0, 0], [True] * 2, [3, 3], 3, 0)
    turns = Turns(
        row=torch.tensor([0, 1]),
        start=torch.tensor([0, 1]),
        end=torch.tensor([2, 3]),
        rewards=torch.tensor([1.0, 0.0]).double(),
        states=torch.tensor([7, 7]),
    )
    credit = advantages({"type": "gagpo"}, replace(step.rows, turns=turns), step.rewards, step.keep)
    assert credit.sign().tolist() == [[1.0, 1.0, 0.0], [0.0, -1.0, -1.0]]


def test_a_pair_in_the_wrong_order_counts_more() -> None:
    """The right row likelier by 1 nat than the wrong one, or the other way round: weights sigmoid(-1), sigmoid(1)."""
    step = build([1.0, 0.0], [0, 0], [True] * 2, [1, 1], 1, 0)
    for right, weight in ((-1.0, 1 / (1 + math.e)), (-3.0, 1 / (1 + math.exp(-1)))):
        rows = replace(step.rows, old_logprobs=torch.tensor([[right], [-2.0]]))
        credit = advantages({"type": "lampo"}, rows, step.rewards, step.keep)
        assert credit.tolist() == pytest.approx([weight, -weight])


def test_turns_number_the_tokens_of_their_actions() -> None:
    turns = Turns(
        row=torch.tensor([0, 0, 1]),
        start=torch.tensor([0, 3, 1]),
        end=torch.tensor([2, 5, 4]),
        rewards=torch.zeros(3),
        states=torch.zeros(3, dtype=torch.int64),
    )
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    assert turns.actions(mask).tolist() == [[0, 0, -1, 1, 1], [-1, 0, 0, -1, -1]]


def test_observations_tell_when_the_data_do_not_suit_the_estimator() -> None:
    step = build([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], [0, 0, 0, 1, 1, 1, 1], [True] * 7, [1] * 7, 1, 0)
    assert observe({"type": "gtpo"}, step.rows, step.rewards, step.keep) == {
        "advantage/lone_side_share": (1.0, 2.0)
    }
    assert observe({"type": "grpo"}, step.rows, step.rewards, step.keep) == {}
    visits = observe(SLOTS["gagpo"] | {"state_scope": "batch"}, step.rows, step.rewards, step.keep)
    assert visits["advantage/visits_per_state"][0] == 14.0


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("process", "steps"),
        ("gagpo", "turns"),
        ("lampo", "old_logprobs"),
        ("gtpo", "entropies"),
        ("grpo_s", "entropies"),
        ("eda", "entropies"),
    ],
)
def test_what_is_missing_is_named(name: str, field: str) -> None:
    step = build([1.0, 0.0], [0, 0], [True] * 2, [2, 2], 5, 0)
    rows = replace(step.rows, **{field: None})
    with pytest.raises(ValueError, match=field):
        advantages(SLOTS[name], rows, step.rewards, step.keep)
    assert (name in READS_OLD_POLICY) == (field in {"old_logprobs", "entropies"})


def test_types_that_do_not_read_the_old_policy_do_without_it() -> None:
    step = build([1.0, 0.0], [0, 0], [True] * 2, [2, 2], 5, 0)
    rows = replace(step.rows, old_logprobs=None, entropies=None)
    for name in set(ADVANTAGES) - READS_OLD_POLICY:
        advantages(SLOTS[name], rows, step.rewards, step.keep)


def test_the_specification_has_each_estimator_and_its_defaults() -> None:
    models = {model.model_fields["type"].default: model for model in get_args(get_args(Advantage)[0])}
    assert models.keys() == ADVANTAGES.keys()
    step = build([1.0, 0.0, 1.0], [0, 0, 0], [True] * 3, [2, 3, 1], 5, 0)
    for name, model in models.items():
        credit = advantages(model().model_dump(), step.rows, step.rewards, step.keep)
        close(credit, step.credit(name))
        assert (credit.dim() == 2) == model().per_token, name
    assert not ReinforcePpBaselineAdvantage(level="sequence").per_token


SPEC = {"model": "m", "data": {"dataset": "d"}, "rewards": [{"source": "def grade(completion): return 1"}]}


@pytest.mark.parametrize(
    ("advantage", "says"),
    [
        ({"type": "gagpo"}, "compares the turns of agents and the states they act in"),
        ({"type": "lampo", "weight": "uniform", "tau": 2.0}, "`tau` is not used with `weight: uniform`"),
        ({"type": "passk_max", "normalise": False, "eps": 0.1}, "`eps` is not used with `normalise: false`"),
        ({"type": "reinforce_pp_baseline", "eps": 0.1}, "set `level: sequence`"),
        ({"type": "dr_grpo", "eps": 0.1}, "Extra inputs are not permitted"),
    ],
)
def test_a_specification_with_values_that_nothing_uses_is_refused(
    advantage: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        JobSpec.model_validate(SPEC | {"algorithm": {"advantage": advantage}})
    assert says in str(refused.value)


def test_a_resolved_specification_holds_defaults_that_are_not_used() -> None:
    for advantage in ({"type": "lampo", "weight": "uniform"}, {"type": "passk_max", "normalise": False}):
        spec = JobSpec.model_validate(SPEC | {"algorithm": {"advantage": advantage}})
        assert spec.resolved().algorithm.advantage == spec.algorithm.advantage
