"""Combinations of several rewards: summed, or standardised and then summed."""

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import StdKind, group_statistics, standardised
from worker.algorithm.rows import UNIFORM_STD, Rows, State
from worker.algorithm.shaping.base import Combined


def has_reward(rows: Rows) -> Tensor:
    """(N,) bool: rows for which no reward failed and at least one applies."""
    return ~rows.values.isnan().all(1) & rows.scorable


def sum_of(rows: Rows, values: Tensor) -> Tensor:
    """Σ_k weight_k · value_{i,k} over present values; NaN for rows without a reward."""
    total = (torch.where(values.isnan(), 0.0, values) * rows.weights).sum(1)
    return torch.where(has_reward(rows), total, torch.nan)


def weighted_sum(rows: Rows, state: State) -> Combined:
    """R_i = Σ_k weight_k · r_{i,k} over the rewards that apply. TRL `sum_then_normalize`."""
    return Combined(rewards=sum_of(rows, rows.values), state=state)


def mo_grpo(rows: Rows, state: State, *, std: StdKind = "sample", eps: float = 1e-4) -> Combined:
    """A_i = Σ_k weight_k · (r_{i,k} - mean_g r_k) / (std_g r_k + eps). MO-GRPO (2509.22047) eq. 5; weights
    are ours.
    """
    usable = ~rows.values.isnan() & rows.scorable[:, None]
    columns = [
        standardised(rows.values[:, k], rows.group, usable[:, k], std=std, eps=eps)
        for k in range(rows.values.shape[1])
    ]
    return Combined(
        rewards=sum_of(rows, torch.stack(columns, 1)), state=state, reported=sum_of(rows, rows.values)
    )


def gdpo(rows: Rows, state: State, *, eps: float = 1e-4) -> Combined:
    """MO-GRPO's sum, standardised over the batch with the sample deviation + eps.

    GDPO (2601.05242); TRL `multi_objective_aggregation="normalize_then_sum"`.
    """
    summed = mo_grpo(rows, state, eps=eps)
    there = ~summed.rewards.isnan()
    batch = group_statistics(summed.rewards, torch.zeros_like(rows.group), there)
    scaled = torch.where(batch.std > UNIFORM_STD, (summed.rewards - batch.mean) / (batch.std + eps), 0.0)
    return Combined(rewards=torch.where(there, scaled, torch.nan), state=state, reported=summed.reported)
