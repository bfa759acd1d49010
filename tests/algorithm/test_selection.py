"""Selection: selected rows, requests for more rows, and the end of sampling."""

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.algorithm.cases.base import group_rows, rows_of
from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.loss.optimizer_batch import OptimizerBatch, batch_constants
from worker.algorithm.rows import Rows
from worker.algorithm.selection import Branch, Prompts, Repair, select
from worker.algorithm.selection.axpo import split_credit
from worker.algorithm.selection.quantiles import added, count, quantile

few = settings(max_examples=25, deadline=None)
graded = st.sampled_from([0.0, 0.5, 1.0])
same_size = st.integers(2, 5).flatmap(
    lambda size: st.lists(st.lists(graded, min_size=size, max_size=size), min_size=1, max_size=6)
)


def requested_groups(selection: Any) -> int:
    return sum(request.count for request in selection.again if isinstance(request, Prompts))


# ── Dynamic sampling ────────────────────────────────────────────────────────────────────────────────────────

DYNAMIC = {"type": "dynamic_sampling", "max_rounds": 3}


@few
@given(rewards=same_size, rounds=st.integers(1, 4), target=st.integers(1, 8))
def test_groups_with_signal_stay_and_the_missing_ones_are_requested(
    rewards: list[list[float]], rounds: int, target: int
) -> None:
    rows, flat = group_rows(rewards, group_count=target, rounds=rounds)
    selection = select(DYNAMIC, rows, flat, {})
    signal = [number for number, group in enumerate(rewards) if len(set(group)) > 1]
    assert sorted(set(rows.group[selection.keep].tolist())) == signal[:target]
    missing = target - min(len(signal), target)
    assert selection.metrics["select/missing_groups"] == missing
    assert requested_groups(selection) == (missing if rounds < 3 else 0)


def test_sampling_ends_with_enough_groups_or_at_the_bound() -> None:
    """The loop as a trainer runs it: what is asked for is added, and asked for again no more than the bound says."""
    draw = random.Random(4)
    rewards: list[list[float]] = [[1.0, 1.0], [0.0, 1.0]]
    sizes = []
    for rounds in range(1, 100):
        rows, flat = group_rows(rewards, group_count=2, rounds=rounds)
        selection = select({"type": "dynamic_sampling", "max_rounds": 50}, rows, flat, {})
        sizes.append(requested_groups(selection))
        if not selection.again:
            break
        rewards += [
            [float(draw.random() < 0.3) for _ in range(2)] for _ in range(requested_groups(selection))
        ]
    assert selection.keep.sum() == 4
    assert sizes[-1] == 0
    assert set(sizes[:-1]) == {1}


def test_the_reward_that_is_named_decides() -> None:
    values = [[0.0, -0.1], [0.0, -0.2], [1.0, 0.0], [0.0, 0.0]]
    rows = rows_of(values, [0, 0, 1, 1], names=("right", "short"))
    flat = rows.values.sum(1)
    assert select(DYNAMIC, rows, flat, {}).keep.tolist() == [True] * 4
    selection = select(DYNAMIC | {"by": "right"}, rows, flat, {})
    assert selection.keep.tolist() == [False, False, True, True]
    with pytest.raises(ValueError, match="choose one of right, short"):
        select(DYNAMIC | {"by": "wrong"}, rows, flat, {})


def test_rows_without_a_reward_make_no_signal() -> None:
    rows, _ = group_rows([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    rewards = torch.tensor([1.0, 1.0, math.nan, 0.0, 1.0, math.nan]).double()
    selection = select(DYNAMIC, rows, rewards, {})
    assert selection.keep.tolist() == [False, False, False, True, True, False]


# ── GFPO ────────────────────────────────────────────────────────────────────────────────────────────────────


@few
@given(
    lengths=st.lists(st.integers(1, 60), min_size=4, max_size=12, unique=True),
    keep=st.integers(2, 3),
    data=st.data(),
)
def test_the_shortest_are_selected_in_any_order(lengths: list[int], keep: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(lengths))))
    slot = {"type": "gfpo", "metric": "length", "keep": keep}
    rows, flat = group_rows([[float(number) for number in range(len(lengths))]], lengths=lengths)
    selection = select(slot, rows, flat, {})
    assert sorted(torch.tensor(lengths)[selection.keep].tolist()) == sorted(lengths)[:keep]
    moved_rows, moved = group_rows([[flat[at].item() for at in order]], lengths=[lengths[at] for at in order])
    again = select(slot, moved_rows, moved, {})
    assert again.keep.tolist() == selection.keep[torch.tensor(order)].tolist()


def test_ties_go_to_the_first_and_unscored_rows_to_nobody() -> None:
    rows, _ = group_rows([[0.0] * 5], lengths=[3, 2, 2, 2, 1])
    rewards = torch.tensor([0.0, 1.0, 2.0, 3.0, math.nan]).double()
    selection = select({"type": "gfpo", "keep": 2}, rows, rewards, {})
    assert selection.keep.tolist() == [False, True, True, False, False]
    assert selection.counted is not None
    assert selection.counted.tolist() == [True, True, True, True, False]


def test_a_small_group_stays_whole() -> None:
    rows, flat = group_rows([[0.0, 1.0], [0.0, 1.0, 0.5]], lengths=[1, 2, 3, 4, 5])
    assert select({"type": "gfpo", "keep": 2}, rows, flat, {}).keep.tolist() == [True] * 4 + [False]


def test_groups_without_signal_are_replaced_before_the_shortest_are_chosen() -> None:
    rows, flat = group_rows([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]], lengths=[1, 2, 3, 4, 5, 6], group_count=2)
    selection = select({"type": "gfpo", "keep": 2, "first": DYNAMIC}, rows, flat, {})
    assert selection.keep.tolist() == [False, False, False, True, True, False]
    assert requested_groups(selection) == 1
    assert selection.counted is not None
    assert selection.counted.tolist() == [False] * 3 + [True] * 3


def test_easy_prompts_keep_fewer_once_the_warm_up_is_over() -> None:
    slot = {
        "type": "gfpo_adaptive",
        "keep_easy": 1,
        "keep_medium": 2,
        "keep_hard": 3,
        "keep_very_hard": 4,
        "warmup": 4,
    }
    means = [0.0, 0.25, 0.5, 0.75]
    rows, flat = group_rows([[mean] * 5 for mean in means])
    first = select(slot, rows, flat, {})
    sizes = [int(first.keep[rows.group == number].sum()) for number in range(4)]
    assert sizes == [4, 4, 4, 4]
    second = select(slot, rows, flat, json.loads(json.dumps(first.state)))
    sizes = [int(second.keep[rows.group == number].sum()) for number in range(4)]
    assert sizes == [4, 3, 2, 1]
    assert count(second.state["sketch"]) == 8


# ── Quantiles ───────────────────────────────────────────────────────────────────────────────────────────────


@few
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60), st.floats(0, 1))
def test_quantiles_of_few_values_are_exact(values: list[float], q: float) -> None:
    expected = torch.quantile(torch.tensor(values, dtype=torch.float64), q).item()
    halves = added(added([], values[::2]), values[1::2])
    assert quantile(halves, q) == pytest.approx(expected, abs=1e-9)


def test_quantiles_of_many_values_are_close_in_little_memory() -> None:
    draw = random.Random(1)
    values = [draw.betavariate(0.5, 2) for _ in range(20_000)]
    sketch: list[list[float]] = []
    for start in range(0, len(values), 100):
        sketch = added(sketch, values[start : start + 100])
    assert len(sketch) <= 512
    assert count(sketch) == len(values)
    assert json.loads(json.dumps(sketch)) == sketch
    ranked = sorted(values)
    for q in (0.01, 0.25, 0.5, 0.75, 0.99):
        rank = sum(value <= quantile(sketch, q) for value in ranked) / len(ranked)
        assert rank == pytest.approx(q, abs=0.02)


def test_a_quantile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no quantile"):
        quantile([], 0.5)


# ── Guided error correction ─────────────────────────────────────────────────────────────────────────────────

CORRECT = {"type": "guided_correction", "full_reward": 1.0, "max_prompt_tokens": 100}


def repairs(selection: Any) -> list[Repair]:
    return [request for request in selection.again if isinstance(request, Repair)]


def test_wrong_rows_of_short_prompts_are_repaired_once() -> None:
    rewards = torch.tensor([1.0, 0.5, 0.0, math.nan]).double()
    rows = rows_of([[0.0]] * 4, prompt_lengths=torch.tensor([10, 10, 100, 10]))
    selection = select(CORRECT, rows, rewards, {})
    assert [repair.row for repair in repairs(selection)] == [1]
    assert selection.keep.tolist() == [True, True, True, False]
    mask = torch.ones((4, 1), dtype=torch.bool)
    mended = rows_of([[0.0]] * 4, prompt_lengths=torch.tensor([10] * 4), rounds=2, injected=mask)
    again = select(CORRECT, mended, rewards, {})
    assert not again.again
    assert again.injected is None
    trained = select(CORRECT | {"train_injected": True}, mended, rewards, {})
    assert trained.injected is mask
    assert again.state == selection.state == {"steps": 1}


@pytest.mark.parametrize(
    ("shares", "answer", "solution"), [((1, 0), False, False), ((0, 1), True, False), ((0, 0), False, True)]
)
def test_shares_say_how_rows_are_repaired(shares: tuple[float, float], answer: bool, solution: bool) -> None:
    rows = rows_of([[0.0]] * 50, prompt_lengths=torch.tensor([1] * 50))
    slot = CORRECT | {"cue_share": shares[0], "answer_share": shares[1]}
    requested = repairs(select(slot, rows, torch.zeros(50), {}))
    assert {(repair.answer, repair.solution) for repair in requested} == {(answer, solution)}


def test_half_get_the_answer_a_quarter_the_solution_a_quarter_a_replacement_drawn_per_step_and_job() -> None:
    def kinds(state: dict[str, Any], seed: int) -> list[tuple[bool, bool]]:
        rows = rows_of([[0.0]] * 4000, prompt_lengths=torch.tensor([1] * 4000), seed=seed)
        return [
            (repair.answer, repair.solution)
            for repair in repairs(select(CORRECT, rows, torch.zeros(4000), state))
        ]

    first = kinds({}, 0)
    assert first.count((False, False)) / 4000 == pytest.approx(0.5, abs=0.03)
    assert first.count((True, False)) / 4000 == pytest.approx(0.25, abs=0.03)
    assert kinds({}, 0) == first
    assert kinds({"steps": 1}, 0) != first != kinds({}, 1)


# ── Tool calls sampled again ────────────────────────────────────────────────────────────────────────────────

NO_TOOL = [-1, -1]


def tool_rows(
    rewards: list[list[float]], spans: list[list[int]], likely: list[float], **more: Any
) -> tuple[Rows, Tensor]:
    old = torch.tensor([[0.0, math.log(p), 0.0] for p in likely]).double()
    lengths = [3] * len(spans)
    return group_rows(rewards, lengths=lengths, tool_spans=torch.tensor(spans), old_logprobs=old, **more)


def test_one_call_of_each_prompt_before_a_second_of_any_and_the_least_confident_first() -> None:
    call = [1, 2]
    rows, flat = tool_rows(
        [[0, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 0]],
        [call, call, call, NO_TOOL, call, NO_TOOL, NO_TOOL, NO_TOOL, call, call, NO_TOOL, NO_TOOL],
        [0.9, 0.2, 0.5, 0.1, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
    )
    slot = {"type": "axpo", "branches": 2, "extra": 0.5}
    selection = select(slot, rows, flat, {})
    assert selection.again == tuple(Branch(row=row, cut=1, count=2) for row in (1, 4, 2))
    assert selection.metrics["select/triggered_share"] == pytest.approx(2 / 3)
    assert select(slot | {"extra": 0.2}, rows, flat, {}).again == (Branch(row=1, cut=1, count=2),)


def test_a_share_of_the_rows_is_counted_without_rounding_errors() -> None:
    """0.58 of 100 rows in pairs is 29; in floats 0.58 · 100 / 2 is a little less."""
    rows, flat = tool_rows([[0.0, 0.0]] * 50, [[1, 2]] * 100, [0.5] * 100)
    assert len(select({"type": "axpo", "branches": 2, "extra": 0.58}, rows, flat, {}).again) == 29


def test_nothing_is_branched_twice() -> None:
    rows, flat = tool_rows([[0.0, 1.0]], [[1, 2], NO_TOOL], [0.5, 0.5], rounds=2)
    selection = select({"type": "axpo"}, rows, flat, {})
    assert not selection.again
    assert selection.keep.tolist() == [True, True]


def test_credit_is_split_where_a_call_begins() -> None:
    call = [1, 2]
    rewards = [[0.0, 1.0, 0.0, 1.0]]
    source = torch.tensor([-1, -1, -1, -1, 2, 2])
    rows, flat = tool_rows(
        [[*rewards[0], 1.0, 0.0]],
        [NO_TOOL, NO_TOOL, call, NO_TOOL, NO_TOOL, NO_TOOL],
        [0.5] * 6,
        source=source,
    )
    credit = split_credit(rows, flat, ~flat.isnan())
    plain_rows, plain = group_rows(rewards)
    expected = ADVANTAGES["grpo"](plain_rows, plain, torch.ones(4, dtype=torch.bool))
    saved = ADVANTAGES["grpo"](plain_rows, torch.tensor([0.0, 1.0, 1.0, 1.0]).double(), torch.ones(4).bool())
    assert credit.advantages[[0, 1, 3]].tolist() == expected[[0, 1, 3], None].expand(3, 3).tolist()
    assert credit.advantages[2].tolist() == [saved[2].item(), 0.0, 0.0]
    assert credit.trained.int().tolist() == [[1, 1, 1], [1, 1, 1], [1, 0, 0], [1, 1, 1], [0, 1, 1], [0, 1, 1]]
    half = 0.5 / (math.sqrt(0.5) + 1e-4)
    assert credit.advantages[4].tolist() == pytest.approx([0.0, half, half])
    assert credit.advantages[5].tolist() == pytest.approx([0.0, -half, -half])
    assert credit.weights.tolist() == [1.0, 1.0, 1.0, 1.0, 2.0, 2.0]
    assert credit.recovery[2] == 1.0
    assert credit.recovery.isnan().sum() == 5


def test_without_branches_credit_is_that_of_grpo() -> None:
    rows, flat = tool_rows([[0.0, 1.0, 1.0]], [NO_TOOL] * 3, [0.5] * 3, source=torch.tensor([-1, -1, -1]))
    credit = split_credit(rows, flat, ~flat.isnan())
    expected = ADVANTAGES["grpo"](rows, flat, ~flat.isnan())
    assert torch.equal(credit.advantages, expected[:, None].expand(3, 3))
    assert credit.trained.all()


def test_the_loss_of_continuations_is_added_to_that_of_the_group() -> None:
    """(1/G) Σ rows or prefixes + Σ sources (1/K) Σ continuations, by hand."""
    mask = torch.tensor([[1, 1, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]).bool()
    losses = torch.tensor([[1.0, 2.0, 3.0], [5.0, 0, 0], [0, 7.0, 9.0], [0, 11.0, 0]])
    batch = OptimizerBatch(
        mask=mask,
        factors=torch.tensor([1.0, 1.0, 1.0, 1.0]).double(),  # G / K = 2 / 2
        independent=torch.tensor([True, True, False, False]),
    )
    loss = {"aggregation": {"type": "seq_mean"}, "kl": {"beta": 0.0}}
    constants = batch_constants(loss, batch, {})
    total = (losses * constants["token_weights"]).sum() / constants["counts"].sum()
    assert total.item() == pytest.approx((2.0 + 5.0) / 2 + (8.0 + 11.0) / 2)
    doubled = batch_constants(loss, replace(batch, factors=torch.tensor([1.0, 1.0, 2.0, 2.0]).double()), {})
    total = (losses * doubled["token_weights"]).sum() / doubled["counts"].sum()
    assert total.item() == pytest.approx((2.0 + 5.0) / 2 + (8.0 + 11.0))
