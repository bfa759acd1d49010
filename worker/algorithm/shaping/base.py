"""Results of the shaping functions."""

from dataclasses import dataclass

from torch import Tensor

from worker.algorithm.rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    rewards: Tensor
    state: State
    reported: Tensor | None = None
    """(N,) float64: reward on a fixed scale, if `rewards` has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    rewards: Tensor
    reported: Tensor
    """(N,) float64, NaN if missing: without standardisation, reweighted criteria and KL."""
    trained: Tensor
    """(N,) bool: rows in the loss."""
    state: State
    token_rewards: Tensor | None = None
    """(N, T) float64, if penalties fall on tokens."""
