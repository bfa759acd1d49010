"""KL coefficients β: adapted to the measured KL, or chosen by row."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from worker.algorithm.rows import PartSettings, State

LARGEST_ERROR = 0.2
"""Limit of the KL's relative distance from the target, so that one outlier changes β little."""

SMALLEST_FACTOR = 0.1
"""Smallest factor by which a step changes β; without it β could reach 0 and never recover."""


def current_beta(kl: PartSettings, state: State) -> float:
    coefficient = state.get("coefficient")
    return float(kl["beta"] if coefficient is None else coefficient)


def advance_kl(kl: PartSettings, state: State, *, measured: float | None, rows: int) -> State:
    """State after a step of `rows` completions with mean KL `measured` (nats per token).

    β ← β·(1 + clip(measured / target - 1, ±0.2)·rows / horizon) (Ziegler et al. 2019, section 2.2; verl
    `AdaptiveKLController`).
    """
    adaptive = kl.get("adaptive")
    if not adaptive or measured is None:
        return state
    error = min(max(measured / adaptive["target"] - 1, -LARGEST_ERROR), LARGEST_ERROR)
    factor = max(1 + error * rows / adaptive["horizon"], SMALLEST_FACTOR)
    return {"coefficient": current_beta(kl, state) * factor}


def with_current_beta(settings: Mapping[str, Any], state: State) -> dict[str, Any]:
    kl = settings.get("kl")
    if not kl or not kl.get("adaptive"):
        return dict(settings)
    return {**settings, "kl": {**kl, "beta": current_beta(kl, state)}}


def row_betas(by: Mapping[str, float], values: Sequence[object], *, otherwise: float) -> Tensor:
    """β of each row, (N,) float32. by: β by value of a dataset column; values: the rows' values in it."""
    return torch.tensor([float(by.get(str(value), otherwise)) for value in values])
