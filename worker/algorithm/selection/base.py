"""Result of a selection: rows to train on, and requests for sampling."""

from dataclasses import dataclass, field

from torch import Tensor

from worker.algorithm.rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Sample groups of `count` new prompts; keep all present rows."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Replace the tail of one row and score it again."""

    row: int
    cue: str
    answer: bool
    solution: bool
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Sample `count` continuations of one row after its first `cut` tokens."""

    row: int
    cut: int
    count: int


Resample = Prompts | Repair | Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    keep: Tensor
    """(N,) bool; final only if `again` is empty."""
    state: State
    counted: Tensor | None = None
    """(N,) bool: rows to choose from, for losses that divide by all tokens."""
    injected: Tensor | None = None
    """(N, T) bool: trained tokens that the policy did not write."""
    again: tuple[Resample, ...] = ()
    """Sampling requested before the update. Shaping and selection then run again with `rows.rounds` increased."""
    metrics: dict[str, float] = field(default_factory=dict)
