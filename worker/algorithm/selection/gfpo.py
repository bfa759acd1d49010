"""Sample many, train on the shortest or most efficient: statistics and gradients come from the rows that are kept."""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import group_statistics
from worker.algorithm.rows import Rows, State
from worker.algorithm.selection.base import Selected
from worker.algorithm.selection.dynamic import dynamic_sampling as sample_dynamically
from worker.algorithm.selection.quantiles import added, count, quantile

Metric = Literal["length", "token_efficiency"]
Denominator = Literal["all", "kept"]


def token_efficiency(rows: Rows, rewards: Tensor) -> Tensor:
    """(N,) reward per token."""
    return rewards / rows.lengths.clamp(min=1)


def gfpo(
    rows: Rows,
    rewards: Tensor,
    state: State,
    *,
    metric: Metric = "length",
    keep: int = 8,
    denominator: Denominator = "all",
    dynamic_sampling: Mapping[str, Any] | None = None,
) -> Selected:
    """The `keep` best rows of each group: the shortest, or those with most reward per token; ties by row number.

    GFPO (2508.09726) algorithm 1 and eq. 2, where the loss's denominator counts the tokens of all rows (`all`); TRL's
    trainer counted those kept (`kept`). With rewards of 0 and 1 token efficiency keeps right rows only, whose
    advantages are all 0: it needs graded rewards. `dynamic_sampling` holds that selection's parameters, and runs
    first.
    """
    first = _scored(rows, rewards, state, dynamic_sampling)
    sizes = dict.fromkeys(torch.unique(rows.group[first.keep]).tolist(), keep)
    return _filtered(rows, rewards, first, sizes, metric, denominator, state)


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
    denominator: Denominator = "all",
    dynamic_sampling: Mapping[str, Any] | None = None,
) -> Selected:
    """GFPO with fewer rows of easier prompts: by the quarter that a group's mean reward falls into, of all seen so far.

    GFPO (2508.09726) algorithm 2. The step's own groups are counted before they are placed; up to `warmup` groups all
    are very hard. State: `sketch` (see `quantiles`).
    """
    first = _scored(rows, rewards, state, dynamic_sampling)
    means = group_statistics(rewards, rows.group, first.keep).mean
    groups = {
        int(rows.group[row]): float(means[row]) for row in torch.nonzero(first.keep).squeeze(1).tolist()
    }
    sketch = added(state.get("sketch", []), groups.values())
    sizes = dict.fromkeys(groups, keep_very_hard)
    if count(sketch) > warmup:
        quarters = [quantile(sketch, q) for q in (0.25, 0.5, 0.75)]
        by_quarter = (keep_very_hard, keep_hard, keep_medium, keep_easy)
        sizes = {group: by_quarter[sum(mean >= edge for edge in quarters)] for group, mean in groups.items()}
    return _filtered(rows, rewards, first, sizes, metric, denominator, {"sketch": sketch})


def _scored(rows: Rows, rewards: Tensor, state: State, dynamic: Mapping[str, Any] | None) -> Selected:
    if dynamic is None:
        return Selected(keep=~rewards.isnan(), state=state)
    params = {key: value for key, value in dynamic.items() if key != "type"}
    return sample_dynamically(rows, rewards, state, **params)


def _filtered(
    rows: Rows,
    rewards: Tensor,
    first: Selected,
    sizes: Mapping[int, int],
    metric: Metric,
    denominator: Denominator,
    state: State,
) -> Selected:
    order = rows.lengths.to(torch.float64) if metric == "length" else -token_efficiency(rows, rewards)
    keep = torch.zeros_like(first.keep)
    for number, size in sizes.items():
        members = torch.nonzero((rows.group == number) & first.keep).squeeze(1)
        keep[members[torch.sort(order[members], stable=True).indices[:size]]] = True
    kept, among = keep.sum(), first.keep.sum().clamp(min=1)
    return Selected(
        keep=keep,
        state=state,
        counted=first.keep if denominator == "all" else None,
        again=first.again,
        metrics={**first.metrics, "select/kept_share": float(kept / among)},
    )
