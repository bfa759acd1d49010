"""Shaping: properties for random rewards, and the effect of each term."""

import json
import math
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.algorithm.cases.base import rows_of
from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.rows import Rows
from worker.algorithm.shaping import COMBINATIONS, shape
from worker.algorithm.shaping.terms import cosine_length, repetition, soft_overlong

value = st.floats(-10, 10, allow_nan=False, width=32)
row = st.lists(st.none() | value, min_size=2, max_size=2)
tables = st.lists(row, min_size=2, max_size=12)
few = settings(max_examples=25, deadline=None)


def groups(count: int) -> list[int]:
    return [number // 4 for number in range(count)]


def rich_rows(table: list[list[float | None]], order: list[int] | None = None) -> Rows:
    """Rows with everything that any combination reads, made from the table alone."""
    order = list(range(len(table))) if order is None else order
    picked = [table[number] for number in order]
    group = groups(len(table))
    return rows_of(
        picked,
        [group[number] for number in order],
        [1.0, 0.5],
        lengths=[1 + 3 * number for number in order],
        names=("first", "second"),
        prompts=tuple(f"prompt {group[number]}" for number in order),
        criteria=tuple(({}, {"a": scores[0] or 0.0, "b": scores[1] or 0.0}) for scores in picked),
        candidates=tuple(([[scores[0] or 0.0, 1.0], [scores[1] or 0.0, 0.0]], []) for scores in picked),
    )


@pytest.mark.parametrize("name", sorted(COMBINATIONS))
@few
@given(table=tables, data=st.data())
def test_the_order_of_rows_changes_nothing(name: str, table: list[Any], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(table))))
    slot = {"type": name, "soft_overlong": {"weight": 1.0, "limit": 30, "cache": 10}}
    plain, moved = shape(slot, rich_rows(table), {}), shape(slot, rich_rows(table, order), {})
    close(moved.rewards, plain.rewards[torch.tensor(order)])
    close(moved.reported, plain.reported[torch.tensor(order)])


@pytest.mark.parametrize("name", sorted(COMBINATIONS))
@few
@given(table=tables)
def test_state_and_rewards_come_back_from_json_the_same(name: str, table: list[Any]) -> None:
    first = shape({"type": name}, rich_rows(table), {})
    stored = json.loads(json.dumps(first.state, allow_nan=False))
    again, direct = (shape({"type": name}, rich_rows(table), state) for state in (stored, first.state))
    assert torch.equal(again.rewards.nan_to_num(9e9), direct.rewards.nan_to_num(9e9))
    assert again.state == direct.state


@pytest.mark.parametrize("name", ["weighted_sum", "mo_grpo", "gdpo"])
@few
@given(table=tables)
def test_a_reward_that_never_applies_and_a_failed_row_leave_the_others_alone(
    name: str, table: list[Any]
) -> None:
    without = shape({"type": name}, rows_of(table, groups(len(table)), [1.0, 0.5]), {})
    widened = [[*row, None] for row in table] + [[1e6, -1e6, 1e6]]
    scorable = torch.tensor([True] * len(table) + [False])
    wide = rows_of(widened, [*groups(len(table)), 0], [1.0, 0.5, 7.0], scorable=scorable)
    shaped = shape({"type": name}, wide, {})
    close(shaped.rewards[:-1], without.rewards)
    assert math.isnan(shaped.rewards[-1])
    nothing = torch.tensor([row == [None, None] for row in table])
    assert torch.equal(without.rewards.isnan(), nothing)


@few
@given(rewards=st.lists(value, min_size=2, max_size=8))
def test_mo_grpo_of_one_reward_is_grpo(rewards: list[float]) -> None:
    rows = rows_of([[reward] for reward in rewards])
    flat = torch.tensor(rewards, dtype=torch.float64)
    expected = ADVANTAGES["grpo"](rows, flat, torch.ones(len(flat), dtype=torch.bool))
    close(shape({"type": "mo_grpo"}, rows, {}).rewards, expected)


@few
@given(
    table=st.lists(st.tuples(value, value), min_size=2, max_size=8),
    scale=st.floats(0.1, 100),
    shift=st.floats(-100, 100),
)
def test_mo_grpo_does_not_see_the_scale_of_a_reward(
    table: list[tuple[float, float]], scale: float, shift: float
) -> None:
    columns = torch.tensor(table, dtype=torch.float64)
    assume(bool((columns.std(0) > 1e-3).all()))
    slot = {"type": "mo_grpo", "eps": 0.0}
    moved = [[a * scale + shift, b] for a, b in table]
    close(
        shape(slot, rows_of(moved), {}).rewards,
        shape(slot, rows_of([list(row) for row in table]), {}).rewards,
    )


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-7, equal_nan=True)


@pytest.mark.parametrize("name", ["mo_grpo", "gdpo"])
def test_uniform_groups_stay_exactly_zero(name: str) -> None:
    rows = rows_of([[0.1, 1e6]] * 3 + [[1 / 3, -5.0]] * 3, [0, 0, 0, 1, 1, 1])
    assert shape({"type": name}, rows, {}).rewards.tolist() == [0.0] * 6


def test_what_is_reported_is_the_sum_and_not_the_comparison() -> None:
    rows = rows_of([[1.0, 10.0], [0.0, 30.0]], weights=[1.0, 0.1])
    for name in ("weighted_sum", "mo_grpo", "gdpo"):
        close(shape({"type": name}, rows, {}).reported, torch.tensor([2.0, 3.0]).double())


# ── Terms ───────────────────────────────────────────────────────────────────────────────────────────────────


@few
@given(limit=st.integers(2, 200), share=st.floats(0.01, 1.0))
def test_soft_overlong_falls_evenly_from_0_to_minus_1(limit: int, share: float) -> None:
    cache = max(1, int(limit * share))
    lengths = list(range(limit + 3))
    penalties = soft_overlong(
        rows_of([[0.0]] * len(lengths), lengths=lengths), torch.zeros(1), limit=limit, cache=cache
    )
    assert penalties[: limit - cache + 1].abs().max() == 0
    assert penalties[limit:].tolist() == [-1.0] * 3
    steps = penalties[1:] - penalties[:-1]
    assert (steps <= 0).all()
    close(steps[limit - cache : limit], torch.full((cache,), -1 / cache, dtype=torch.float64))


@few
@given(ids=st.lists(st.integers(0, 5), max_size=20), n=st.integers(1, 4), pad=st.integers(0, 3))
def test_repetition_is_the_share_of_repeated_ngrams(ids: list[int], n: int, pad: int) -> None:
    rows = rows_of(
        [[0.0]],
        mask=torch.tensor([[True] * len(ids) + [False] * pad], dtype=torch.bool),
        token_ids=torch.tensor([[*ids, *[0] * pad]], dtype=torch.int64),
    )
    grams = [tuple(ids[at : at + n]) for at in range(len(ids) - n + 1)]
    expected = -(1 - len(set(grams)) / len(grams)) if grams else 0.0
    assert repetition(rows, torch.zeros(1), n=n).item() == pytest.approx(expected)


def test_short_and_right_is_best_and_short_and_wrong_is_worst() -> None:
    rows = rows_of([[1.0]] * 3 + [[0.0]] * 3 + [[None]], lengths=[0, 50, 100, 0, 50, 100, 10])
    rewards = torch.tensor([1.0] * 3 + [0.0] * 3 + [math.nan])
    shaped = cosine_length(rows, rewards, limit=100)
    close(shaped, torch.tensor([1.0, 0.75, 0.5, -1.0, -0.75, -0.5, math.nan]).double())
    longer = cosine_length(rows, rewards, limit=100, longer_is_better=True)
    close(longer, torch.tensor([0.5, 0.75, 1.0, -1.0, -0.75, -0.5, math.nan]).double())


def test_terms_are_weighted_and_added_to_what_is_reported_too() -> None:
    rows = rows_of([[1.0], [1.0]], lengths=[10, 5], token_ids=torch.tensor([[3] * 10] * 2))
    slot = {
        "type": "weighted_sum",
        "soft_overlong": {"weight": 2.0, "limit": 10, "cache": 5},
        "repetition": {"weight": 0.5, "n": 1},
    }
    shaped = shape(slot, rows, {})
    close(shaped.rewards, torch.tensor([1 - 2 - 0.45, 1 - 0.4]).double())
    close(shaped.reported, shaped.rewards)


def test_terms_are_reported_beside_the_rubric_as_scored() -> None:
    rows = rubric_rows([{"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 1.0}], lengths=[10, 5])
    shaped = shape({"type": "pow3r", "soft_overlong": {"weight": 1.0, "limit": 10, "cache": 5}}, rows, {})
    close(shaped.reported, torch.tensor([0.5 - 1, 1.0]).double())
    close(shaped.rewards, torch.tensor([0.375 - 1, 1.0]).double())


def test_truncated_rows_are_compared_and_not_trained_on() -> None:
    rows = rows_of([[1.0], [0.0]], truncated=torch.tensor([True, False]))
    masked = shape({"type": "weighted_sum", "mask_truncated": True}, rows, {})
    assert masked.trained.tolist() == [False, True]
    assert masked.rewards.tolist() == [1.0, 0.0]
    assert shape({"type": "weighted_sum"}, rows, {}).trained.tolist() == [True, True]


# ── KL in the reward ────────────────────────────────────────────────────────────────────────────────────────


def kl_rows(pad: int = 0) -> Rows:
    generator = torch.Generator().manual_seed(5)
    old, reference = -torch.rand((2, 3, 4), generator=generator).double()
    junk = torch.full((3, pad), torch.nan, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]]).bool()
    return rows_of(
        [[1.0], [0.25], [0.5]],
        mask=torch.cat([mask, junk.isnan() & False], 1),
        old_logprobs=torch.cat([old, junk], 1),
        reference_logprobs=torch.cat([reference, junk], 1),
    )


def kl_slot(level: str, beta: float = 0.3) -> dict[str, Any]:
    return {"type": "weighted_sum", "kl": {"beta": beta, "level": level}}


def test_token_rewards_sum_to_the_reward_of_the_sequence() -> None:
    rows = kl_rows()
    tokens = shape(kl_slot("token"), rows, {}).token_rewards
    assert tokens is not None
    close(tokens.sum(1)[:2], shape(kl_slot("sequence"), rows, {}).rewards[:2])


def test_the_reward_that_is_reported_is_without_the_distance() -> None:
    for level in ("token", "sequence"):
        assert shape(kl_slot(level), kl_rows(), {}).reported.tolist() == [1.0, 0.25, 0.5]


def test_what_stands_in_padding_is_not_read() -> None:
    tokens, wide = (shape(kl_slot("token"), kl_rows(pad), {}).token_rewards for pad in (0, 2))
    assert tokens is not None
    assert wide is not None
    assert torch.equal(wide[:, :4], tokens)
    assert (wide[:, 4:] == 0).all()


def test_without_weight_no_reference_is_needed() -> None:
    rows = rows_of([[1.0]])
    assert shape(kl_slot("sequence", beta=0.0), rows, {}).rewards.tolist() == [1.0]
    with pytest.raises(ValueError, match="logprobs"):
        shape(kl_slot("sequence"), rows, {})


# ── Rubrics ─────────────────────────────────────────────────────────────────────────────────────────────────


def rubric_rows(scores: list[dict[str, float]], **more: Any) -> Rows:
    return rows_of(
        [[0.0]] * len(scores), criteria=tuple((scores,) for scores in scores), names=("rubric",), **more
    )


def test_weight_moves_to_the_criterion_that_tells_completions_apart() -> None:
    rows = rubric_rows(
        [{"always": 1.0, "often": float(number % 2)} for number in range(4)], prompts=("p",) * 4
    )
    state: dict[str, Any] = {}
    for _ in range(20):
        shaped = shape({"type": "pow3r"}, rows, state)
        state = shaped.state
    alpha = state["alpha"]["p"]
    assert alpha["rubric/always"] == pytest.approx(0.5, abs=1e-4)
    assert alpha["rubric/often"] == pytest.approx(1.5, abs=1e-4)
    close(shaped.reported, torch.tensor([0.5, 1.0, 0.5, 1.0]).double())
    close(shaped.rewards, torch.tensor([0.25, 1.0, 0.25, 1.0]).double())


@few
@given(
    st.lists(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1), min_size=1), min_size=1, max_size=6)
)
def test_factors_and_rewards_stay_in_bounds(scores: list[dict[str, float]]) -> None:
    state: dict[str, Any] = {}
    for _ in range(3):
        shaped = shape({"type": "pow3r", "categories": {"a": "x", "b": "x"}}, rubric_rows(scores), state)
        state = shaped.state
    factors = [factor for prompt in state["alpha"].values() for factor in prompt.values()]
    assert all(0.25 <= factor <= 4 for factor in factors)
    assert ((shaped.rewards > -1e-9) & (shaped.rewards < 1 + 1e-9)).all()


def test_equal_scores_that_are_not_exact_move_nothing() -> None:
    """Three times 0.1 has a variance of rounding, whose share in its category would be anything."""
    shaped = shape({"type": "pow3r"}, rubric_rows([{"a": 0.1, "b": 0.7}] * 3), {})
    assert set(shaped.state["alpha"]["0"].values()) == {1.0}


def test_a_prompt_has_factors_of_its_own() -> None:
    scores = [{"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}]
    rows = rubric_rows(scores, group=[0, 0, 1, 1], prompts=("p", "p", "q", "q"))
    alpha = shape({"type": "pow3r"}, rows, {}).state["alpha"]
    assert alpha["p"] == {"rubric/a": 1.25, "rubric/b": 0.75}
    assert alpha["q"] == {"rubric/a": 0.75, "rubric/b": 1.25}


def test_violations_are_taken_off() -> None:
    slot = {"type": "pow3r", "weights": {"good": 2.0, "bad": -1.0}, "blend": 0.0}
    shaped = shape(slot, rubric_rows([{"good": 1.0, "bad": 0.0}, {"good": 1.0, "bad": 1.0}]), {})
    close(shaped.rewards, torch.tensor([1.0, 0.5]).double())


def test_categories_count_the_same_however_many_criteria_they_have() -> None:
    slot = {"type": "pow3r", "categories": {"a": "x", "b": "y", "c": "y", "d": "y"}, "blend": 0.0}
    shaped = shape(
        slot, rubric_rows([{"a": 1, "b": 0, "c": 0, "d": 0}, {"a": 0, "b": 1, "c": 1, "d": 1}]), {}
    )
    assert shaped.rewards.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", ["pow3r", "vpo"])
def test_a_reward_that_returns_nothing_usable_is_an_error(name: str) -> None:
    rows = rows_of([[1.0], [0.0]], criteria=(({},), ({},)), candidates=(((),), ((),)))
    with pytest.raises(ValueError, match="needs a reward that returns"):
        shape({"type": name}, rows, {})
    later = shape({"type": name}, rows, {"steps": 1, "alpha": {"p": {"r/a": 1.0}}})
    assert later.rewards.tolist() == [1.0, 0.0]


# ── Sets of candidates ──────────────────────────────────────────────────────────────────────────────────────


def set_rows(sets: list[list[list[float]]], **more: Any) -> Rows:
    return rows_of([[0.0]] * len(sets), candidates=tuple((candidates,) for candidates in sets), **more)


@few
@given(st.lists(value, min_size=2, max_size=6))
def test_one_candidate_in_one_dimension_is_the_plain_reward(scores: list[float]) -> None:
    shaped = shape({"type": "vpo"}, set_rows([[[score]] for score in scores]), {})
    close(shaped.rewards, torch.tensor(scores, dtype=torch.float64))


@few
@given(
    st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=1, max_size=4),
    st.lists(st.floats(0, 1), min_size=2, max_size=2),
)
def test_another_candidate_never_lowers_the_reward(sets: list[list[float]], more: list[float]) -> None:
    fewer, larger = shape({"type": "vpo"}, set_rows([sets, [*sets, more]]), {}).rewards.tolist()
    assert larger >= fewer - 1e-12


def test_specialists_outscore_copies_of_a_compromise() -> None:
    sets = [[[1.0, 0.0], [0.0, 1.0]], [[0.6, 0.6], [0.6, 0.6]]]
    specialists, compromise = shape({"type": "vpo", "draws": 500}, set_rows(sets), {}).rewards.tolist()
    assert specialists == pytest.approx(0.75, abs=0.03)  # E max(w, 1 - w) for w uniform
    assert compromise == pytest.approx(0.6)


def test_draws_are_shared_by_a_prompt_and_new_in_every_step_and_job() -> None:
    sets = [[[1.0, 0.0], [0.0, 0.9]]] * 3
    rows = set_rows(sets, group=[0, 0, 1])
    first = shape({"type": "vpo", "draws": 4}, rows, {})
    assert first.rewards[0] == first.rewards[1] != first.rewards[2]
    assert torch.equal(shape({"type": "vpo", "draws": 4}, rows, {}).rewards, first.rewards)
    second = shape({"type": "vpo", "draws": 4}, rows, first.state)
    other = shape({"type": "vpo", "draws": 4}, set_rows(sets, group=[0, 0, 1], seed=1), {})
    assert second.rewards[0] != first.rewards[0] != other.rewards[0]


def test_a_row_without_candidates_keeps_its_score() -> None:
    rows = rows_of([[0.125], [0.5]], candidates=(((),), ([[2.0]],)))
    assert shape({"type": "vpo"}, rows, {}).rewards.tolist() == [0.125, 2.0]
