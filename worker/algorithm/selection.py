"""Slot 2: which completions are trained on."""

from collections.abc import Callable

from torch import Tensor

from worker.algorithm.rows import Rows, Slot, State, lookup


def keep_all(rows: Rows, rewards: Tensor, state: State) -> tuple[Tensor, State]:
    """Every row that has a reward."""
    return ~rewards.isnan(), state


SELECTIONS: dict[str, Callable[..., tuple[Tensor, State]]] = {"keep_all": keep_all}


def select(slot: Slot, rows: Rows, rewards: Tensor, state: State) -> tuple[Tensor, State]:
    """Rows (N,) bool that enter statistics and loss, and the slot's state for the next step."""
    function, params = lookup(SELECTIONS, slot, "selection")
    return function(rows, rewards, state, **params)
