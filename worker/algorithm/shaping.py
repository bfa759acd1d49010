"""Slot 1: from the values of several rewards to one outcome reward per completion."""

from collections.abc import Callable

import torch
from torch import Tensor

from worker.algorithm.rows import Rows, Slot, State, lookup


def weighted_sum(rows: Rows, state: State) -> tuple[Tensor, State]:
    """R_i = Σ_k weight_k · r_{i,k} over the rewards that apply; NaN for a row with none, or with a failed one."""
    applies = ~rows.values.isnan()
    total = (torch.where(applies, rows.values, 0.0) * rows.weights).sum(1)
    return torch.where(applies.any(1) & rows.scorable, total, torch.nan), state


SHAPING: dict[str, Callable[..., tuple[Tensor, State]]] = {"weighted_sum": weighted_sum}


def shape(slot: Slot, rows: Rows, state: State) -> tuple[Tensor, State]:
    """Rewards (N,) float64, NaN for rows without one, and the slot's state for the next step."""
    function, params = lookup(SHAPING, slot, "shaping")
    return function(rows, state, **params)
