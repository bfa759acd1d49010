"""Results of the shaping functions."""

from dataclasses import dataclass

from torch import Tensor

from worker.algorithm.rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """One number per completion from the values of several rewards."""

    rewards: Tensor
    """(N,) float64, NaN for rows without one."""
    state: State
    """For the next step."""
    reported: Tensor | None = None
    """(N,) float64: the reward on a scale that stays, where that of `rewards` moves; None: the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """Shaped rewards of N rows."""

    rewards: Tensor
    """(N,) float64, NaN for rows without one; slots 2 and 3 read it."""
    reported: Tensor
    """(N,) float64, NaN for rows without one: combination and terms without what training itself moves, which are
    standardisation, reweighted criteria and the distance from the reference."""
    trained: Tensor
    """(N,) bool: rows whose tokens are trained on. The others still enter their group's statistics."""
    state: State
    """For the next step."""
    token_rewards: Tensor | None = None
    """(N, T) float64, where a penalty falls on each token: to become `rows.token_rewards`."""
