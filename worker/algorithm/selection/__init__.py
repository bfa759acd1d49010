"""Selection: chooses the completions to train on, and may request more sampling first."""

from collections.abc import Callable

from torch import Tensor

from worker.algorithm.plugin_functions import check_shape, check_type
from worker.algorithm.rows import PartSettings, Rows, State, lookup
from worker.algorithm.selection.axpo import axpo
from worker.algorithm.selection.base import Branch, Prompts, Repair, Resample, Selected
from worker.algorithm.selection.dynamic import dynamic_sampling, keep_all
from worker.algorithm.selection.edge import guided_correction
from worker.algorithm.selection.gfpo import gfpo, gfpo_adaptive

__all__ = ["SELECTIONS", "Branch", "Prompts", "Repair", "Resample", "Selected", "select"]

SELECTIONS: dict[str, Callable[..., Selected]] = {
    "keep_all": keep_all,
    "dynamic_sampling": dynamic_sampling,
    "gfpo": gfpo,
    "gfpo_adaptive": gfpo_adaptive,
    "guided_correction": guided_correction,
    "axpo": axpo,
}


def select(settings: PartSettings, rows: Rows, rewards: Tensor, state: State) -> Selected:
    function, params = lookup(SELECTIONS, settings, "selection")
    selected = function(rows, rewards, state, **params)
    if (kind := settings["type"]) not in SELECTIONS:
        check_type(selected, Selected, "selection", kind)
        check_shape(selected.keep, rewards.shape, "keep", "selection", kind)
    return selected
