"""Result of a selection: rows to train on, and requests for sampling."""

from dataclasses import dataclass, field

from torch import Tensor

from worker.algorithm.rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Sample groups of `count` prompts that are new in this step; keep all present rows."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Replace the tail of one row and score it again; inserted tokens are marked in `rows.injected`."""

    row: int
    cue: str
    """Text after the policy's tokens, whose end token is removed."""
    answer: bool
    """Append the dataset's boxed answer to the cue."""
    solution: bool
    """Replace the row by the dataset's solution; nothing is sampled."""
    max_tokens: int
    """Most tokens sampled after the cue."""


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
    """(N,) bool: rows in statistics and loss; final only if `again` is empty."""
    state: State
    """For the next step."""
    counted: Tensor | None = None
    """(N,) bool: rows that `keep` was chosen from, for losses that divide by all sampled tokens; None: kept rows."""
    injected: Tensor | None = None
    """(N, T) bool: tokens that the policy did not write but that are trained on."""
    again: tuple[Resample, ...] = ()
    """Sampling requested before the update. Shaping and selection then run again, with `rows.rounds` increased and the
    states of the last completed step."""
    metrics: dict[str, float] = field(default_factory=dict)
