"""Results of the shaping functions."""

from dataclasses import dataclass

from torch import Tensor

from worker.algorithm.rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    rewards: Tensor
    """(N,) float64, NaN if missing."""
    state: State
    reported: Tensor | None = None
    """(N,) float64: reward on a fixed scale, if `rewards` has a changing one; otherwise None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    rewards: Tensor
    """(N,) float64, NaN if missing; input of selection and advantage."""
    reported: Tensor
    """(N,) float64, NaN if missing: combination and terms without changes by training, that is standardisation,
    reweighted criteria and distance from the reference."""
    trained: Tensor
    """(N,) bool: rows in the loss; the others stay in their group's statistics."""
    state: State
    token_rewards: Tensor | None = None
    """(N, T) float64, if penalties fall on tokens; becomes `rows.token_rewards`."""
