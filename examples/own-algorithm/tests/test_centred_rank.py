"""The estimator by itself; its worked cases run in Reinforge's own test of vectors."""

import torch
from own_algorithm.functions import centred_rank
from own_algorithm.presets import CENTRED_RANK

from reinforge.algorithm.slots import Algorithm
from worker.algorithm.rows import Rows


def rows_of(group: list[int]) -> Rows:
    count = len(group)
    return Rows(
        group=torch.tensor(group),
        values=torch.zeros((count, 1), dtype=torch.float64),
        weights=torch.ones(1, dtype=torch.float64),
        scorable=torch.ones(count, dtype=torch.bool),
        mask=torch.ones((count, 1), dtype=torch.bool),
        truncated=torch.zeros(count, dtype=torch.bool),
    )


def test_only_the_order_counts() -> None:
    rewards = torch.tensor([0.0, 1.0, 2.0, 9.0]).double()
    keep = torch.ones(4, dtype=torch.bool)
    advantages = centred_rank(rows_of([0] * 4), rewards, keep)
    torch.testing.assert_close(advantages, torch.tensor([-1, -1 / 3, 1 / 3, 1]).double())
    torch.testing.assert_close(centred_rank(rows_of([0] * 4), rewards**3, keep), advantages)


def test_a_row_without_a_reward_is_not_compared() -> None:
    rewards = torch.tensor([1.0, float("nan"), 3.0]).double()
    advantages = centred_rank(rows_of([0, 0, 0]), rewards, ~rewards.isnan())
    assert advantages.tolist() == [-1, 0, 1]


def test_the_preset_is_an_algorithm() -> None:
    algorithm = Algorithm.model_validate({"preset": "centred_rank", **CENTRED_RANK.slots})
    assert algorithm.advantage.model_dump() == {"type": "centred_rank", "power": 1.0}
