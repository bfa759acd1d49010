"""Result of a selection: rows to train on, and requests for sampling."""

from dataclasses import dataclass, field

from torch import Tensor

from worker.algorithm.rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Request to sample a group for each of `count` new prompts, in addition to the present rows."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Request to replace the tail of one row and to score the row again."""

    row: int
    cue: str
    answer: bool
    solution: bool
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Request to sample `count` continuations of one row after its first `cut` tokens."""

    row: int
    cut: int
    count: int


Resample = Prompts | Repair | Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    keep: Tensor
    """(N,) bool: rows to train on; final only if `again` is empty."""
    state: State
    counted: Tensor | None = None
    """(N,) bool: rows from which the selection chose, for losses that divide by all their tokens."""
    injected: Tensor | None = None
    """(N, T) bool: trained tokens that the policy did not write."""
    again: tuple[Resample, ...] = ()
    """Sampling requested before the update. Shaping and selection then run again with `rows.rounds` increased."""
    metrics: dict[str, float] = field(default_factory=dict)
