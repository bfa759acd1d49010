"""Advantages by `type`: tensors without gradient. Completions outside `keep` get 0 and enter no statistic."""

from collections.abc import Callable

import torch
from torch import Tensor

from worker.algorithm.advantages.entropy import eda, grpo_s, gtpo, lone_side
from worker.algorithm.advantages.gae import gae, gae_returns
from worker.algorithm.advantages.groups import GroupStatistics, group_statistics
from worker.algorithm.advantages.outcome import (
    dr_grpo,
    grpo,
    grpo_batch_std,
    identity,
    lampo,
    length_corrected,
    opo,
    passk_max,
    rloo,
)
from worker.algorithm.advantages.process import process
from worker.algorithm.advantages.turns import gagpo, state_visits
from worker.algorithm.advantages.whitened import reinforce_pp, reinforce_pp_baseline
from worker.algorithm.plugin_functions import check_finite, check_shape, check_type
from worker.algorithm.rows import PartSettings, Rows, lookup

__all__ = [
    "ADVANTAGES",
    "OBSERVATIONS",
    "VALUE_TARGETS",
    "GroupStatistics",
    "advantages",
    "group_statistics",
    "observe",
    "value_targets",
]

ADVANTAGES: dict[str, Callable[..., Tensor]] = {
    "grpo": grpo,
    "dr_grpo": dr_grpo,
    "grpo_batch_std": grpo_batch_std,
    "rloo": rloo,
    "reinforce_pp": reinforce_pp,
    "reinforce_pp_baseline": reinforce_pp_baseline,
    "process": process,
    "length_corrected": length_corrected,
    "gae": gae,
    "gagpo": gagpo,
    "lampo": lampo,
    "gtpo": gtpo,
    "grpo_s": grpo_s,
    "eda": eda,
    "passk_max": passk_max,
    "opo": opo,
    "identity": identity,
}

OBSERVATIONS: dict[str, tuple[str, Callable[..., tuple[int, int]], tuple[str, ...]]] = {
    "gtpo": ("advantage/lone_side_share", lone_side, ("correct_above",)),
    "grpo_s": ("advantage/lone_side_share", lone_side, ("correct_above",)),
    "gagpo": ("advantage/visits_per_state", state_visits, ("state_scope",)),
}

VALUE_TARGETS: dict[str, tuple[Callable[..., Tensor], tuple[str, ...]]] = {
    "gae": (gae_returns, ("gamma", "lam")),
}


def advantages(settings: PartSettings, rows: Rows, rewards: Tensor, keep: Tensor) -> Tensor:
    """Advantages of completions (N,) or of tokens (N, T), float64."""
    function, params = lookup(ADVANTAGES, settings, "advantage")
    values = function(rows, rewards, keep, **params)
    if (kind := settings["type"]) not in ADVANTAGES:
        check_type(values, Tensor, "advantage", kind)
        per_token = values.dim() == 2
        check_shape(values, rows.mask.shape if per_token else rewards.shape, "advantages", "advantage", kind)
        values = torch.where(rows.mask & keep[:, None] if per_token else keep, values.detach().double(), 0.0)
        read = [rewards[keep]] if rows.old_logprobs is None else [rewards[keep], rows.old_logprobs[rows.mask]]
        check_finite(values, "advantages", "advantage", kind, inputs=read)
    return values


def observe(
    settings: PartSettings, rows: Rows, rewards: Tensor, keep: Tensor
) -> dict[str, tuple[float, float]]:
    if settings["type"] not in OBSERVATIONS:
        return {}
    name, function, params = OBSERVATIONS[settings["type"]]
    total, count = function(rows, rewards, keep, **{key: settings[key] for key in params if key in settings})
    return {name: (float(total), float(count))}


def value_targets(settings: PartSettings, rows: Rows, rewards: Tensor, keep: Tensor) -> Tensor | None:
    """A critic's targets, (N, T) float64; None for advantages without a critic."""
    if settings["type"] not in VALUE_TARGETS:
        return None
    function, params = VALUE_TARGETS[settings["type"]]
    return function(rows, rewards, keep, **{key: settings[key] for key in params if key in settings})
