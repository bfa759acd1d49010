"""Results of the shaping functions."""

from dataclasses import dataclass

from torch import Tensor

from worker.algorithm.rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    rewards: Tensor
    state: State
    reported: Tensor | None = None
    """(N,) float64: reward on the same scale in every step; None if `rewards` has such a scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    rewards: Tensor
    reported: Tensor
    """(N,) float64: reward for metrics, not standardised, with configured criterion weights, without KL; NaN
    if missing.
    """
    trained: Tensor
    """(N,) bool: rows in the loss."""
    state: State
    token_rewards: Tensor | None = None
    """Rewards of tokens, (N, T) float64; None unless the KL is subtracted from tokens."""
