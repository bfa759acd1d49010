"""Result of the selection: rows to train on, and what the trainer has to sample first."""

from dataclasses import dataclass, field

from torch import Tensor

from worker.algorithm.rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Sample whole groups of that many prompts not seen in this step, and keep the rows that are there."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Replace the tail of one row, score it again, and mark what the policy did not write (`rows.injected`)."""

    row: int
    cue: str
    """Text put behind what the policy wrote, its end token taken off."""
    answer: bool
    """The dataset's answer stands in a box behind the cue."""
    solution: bool
    """The row becomes the dataset's solution; nothing is sampled."""
    max_tokens: int
    """Sampled behind the cue at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Sample `count` continuations of one row, cut off behind its first `cut` tokens."""

    row: int
    cut: int
    count: int


Resample = Prompts | Repair | Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """Selection of N rows."""

    keep: Tensor
    """(N,) bool: rows that enter statistics and loss. Right only once `again` is empty."""
    state: State
    """For the next step."""
    counted: Tensor | None = None
    """(N,) bool: rows that `keep` was chosen from, for losses that divide by all tokens sampled; None: those kept."""
    injected: Tensor | None = None
    """(N, T) bool: tokens that the policy did not write and that are trained on all the same."""
    again: tuple[Resample, ...] = ()
    """What to sample before this step's update; then shape and select once more, with `rows.rounds` one higher and
    the states of the last completed step."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Metrics of this step."""
