"""A KL coefficient that follows the distance it causes, and one that depends on the row.

State: {"coefficient": β}, JSON values; travels in the resume state.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from worker.algorithm.rows import PartSettings, State

LARGEST_ERROR = 0.2
"""The relative distance from the target counts up to this, so that one bad step cannot run away with β."""

SMALLEST_FACTOR = 0.1
"""Of one step, where more rows than the horizon would take β to 0, from where it could not come back."""


def current_beta(kl: PartSettings, state: State) -> float:
    """β of the next step."""
    coefficient = state.get("coefficient")
    return float(kl["beta"] if coefficient is None else coefficient)


def advance_kl(kl: PartSettings, state: State, *, measured: float | None, rows: int) -> State:
    """The state after a step of `rows` completions with this mean KL (nats per token; None where there was none).

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
    """A slot that has a `kl` part, with the β that its controller has come to; `state` is the controller's."""
    kl = settings.get("kl")
    if not kl or not kl.get("adaptive"):
        return dict(settings)
    return {**settings, "kl": {**kl, "beta": current_beta(kl, state)}}


def row_betas(by: Mapping[str, float], values: Sequence[object], *, otherwise: float) -> Tensor:
    """(N,) float32: each row's β by the value of its column, `otherwise` for values not listed."""
    return torch.tensor([float(by.get(str(value), otherwise)) for value in values])
