"""Slot 2: which completions are trained on, and what to sample again before that."""

from collections.abc import Callable

from torch import Tensor

from worker.algorithm.rows import Rows, Slot, State, lookup
from worker.algorithm.selection.base import Branch, Prompts, Repair, Resample, Selected
from worker.algorithm.selection.dynamic import dynamic_sampling, keep_all

__all__ = ["SELECTIONS", "Branch", "Prompts", "Repair", "Resample", "Selected", "select"]

SELECTIONS: dict[str, Callable[..., Selected]] = {
    "keep_all": keep_all,
    "dynamic_sampling": dynamic_sampling,
}


def select(slot: Slot, rows: Rows, rewards: Tensor, state: State) -> Selected:
    """Rows to train on, what to sample first, and the slot's state for the next step."""
    function, params = lookup(SELECTIONS, slot, "selection")
    return function(rows, rewards, state, **params)
