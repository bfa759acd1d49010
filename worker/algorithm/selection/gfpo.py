"""GFPO: samples many completions, trains on the shortest or most efficient."""

from collections.abc import Callable, Mapping
from typing import Literal

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import group_statistics
from worker.algorithm.rows import PartSettings, Rows, State, lookup
from worker.algorithm.selection.base import Selected
from worker.algorithm.selection.dynamic import dynamic_sampling, keep_all
from worker.algorithm.selection.quantiles import added, count, quantile

Metric = Literal["length", "token_efficiency"]


def token_efficiency(rows: Rows, rewards: Tensor) -> Tensor:
    return rewards / rows.lengths.clamp(min=1)


def gfpo(
    rows: Rows,
    rewards: Tensor,
    state: State,
    *,
    metric: Metric = "length",
    keep: int = 4,
    first: PartSettings | None = None,
) -> Selected:
    """Select the `keep` best rows of each group: shortest, or most reward per token.

    GFPO (2508.09726) algorithm 1 and eq. 2, whose loss divides by the tokens of all rows (`counted`).
    """
    before = _before(rows, rewards, first)
    sizes = dict.fromkeys(torch.unique(rows.group[before.keep]).tolist(), keep)
    return _filtered(rows, rewards, before, sizes, metric, state)


def gfpo_adaptive(
    rows: Rows,
    rewards: Tensor,
    state: State,
    *,
    metric: Metric = "length",
    keep_easy: int = 4,
    keep_medium: int = 6,
    keep_hard: int = 8,
    keep_very_hard: int = 8,
    warmup: int = 64,
    first: PartSettings | None = None,
) -> Selected:
    """GFPO that keeps fewer rows of easy prompts, by the quartile of a group's mean reward among all so far.

    GFPO (2508.09726) algorithm 2. The first `warmup` groups count as very hard. State: `sketch` of mean
    rewards.
    """
    before = _before(rows, rewards, first)
    means = group_statistics(rewards, rows.group, before.keep).mean
    groups = {
        int(rows.group[row]): float(means[row]) for row in torch.nonzero(before.keep).squeeze(1).tolist()
    }
    sketch = added(state.get("sketch", []), groups.values())
    sizes = dict.fromkeys(groups, keep_very_hard)
    if count(sketch) > warmup:
        quarters = [quantile(sketch, q) for q in (0.25, 0.5, 0.75)]
        by_quarter = (keep_very_hard, keep_hard, keep_medium, keep_easy)
        sizes = {group: by_quarter[sum(mean >= edge for edge in quarters)] for group, mean in groups.items()}
    return _filtered(rows, rewards, before, sizes, metric, {"sketch": sketch})


FIRST: dict[str, Callable[..., Selected]] = {"keep_all": keep_all, "dynamic_sampling": dynamic_sampling}


def _before(rows: Rows, rewards: Tensor, first: PartSettings | None) -> Selected:
    function, params = lookup(FIRST, first or {"type": "keep_all"}, "first selection")
    return function(rows, rewards, {}, **params)


def _filtered(
    rows: Rows,
    rewards: Tensor,
    before: Selected,
    sizes: Mapping[int, int],
    metric: Metric,
    state: State,
) -> Selected:
    order = rows.lengths.to(torch.float64) if metric == "length" else -token_efficiency(rows, rewards)
    keep = torch.zeros_like(before.keep)
    for number, size in sizes.items():
        members = torch.nonzero((rows.group == number) & before.keep).squeeze(1)
        keep[members[torch.sort(order[members], stable=True).indices[:size]]] = True
    selected, among = keep.sum(), before.keep.sum().clamp(min=1)
    return Selected(
        keep=keep,
        state=state,
        counted=before.keep,
        again=before.again,
        metrics={**before.metrics, "select/kept_share": float(selected / among)},
    )
