"""AXPO (2605.28774), from two public notes: samples failed tool calls again after their opening marker."""

from dataclasses import dataclass

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import StdKind, standardised
from worker.algorithm.rows import Rows, State
from worker.algorithm.selection.base import Branch, Selected


def axpo(
    rows: Rows,
    rewards: Tensor,
    state: State,
    *,
    extra: float = 0.25,
    branches: int = 4,
    correct_above: float = 0.5,
) -> Selected:
    """Request `branches` continuations of each of the least confident tool calls, at most `extra` · N in all,
    in groups whose rows with calls are all wrong.
    """
    scored = ~rewards.isnan()
    if rows.rounds > 1:
        return Selected(keep=scored, state=state)
    spans = rows.needed("tool_spans")
    used = scored & (spans[:, 0] >= 0)
    confidence = call_confidence(rows)
    queues: list[list[int]] = []
    for number in torch.unique(rows.group[used]).tolist():
        members = torch.nonzero(used & (rows.group == number)).squeeze(1).tolist()
        if all(rewards[row] <= correct_above for row in members):
            queues.append(sorted(members, key=lambda row: (float(confidence[row]), row)))
    depth = max((len(queue) for queue in queues), default=0)
    waiting = [queue[rank] for rank in range(depth) for queue in queues if rank < len(queue)]
    # A share such as 0.58 has no exact float: 0.58 · 100 / 2 must be 29 rows and not 28.
    chosen = waiting[: int(extra * len(rewards) / branches + 1e-9)]
    again = tuple(Branch(row=row, cut=int(spans[row, 0]), count=branches) for row in chosen)
    groups = len(torch.unique(rows.group))
    return Selected(
        keep=scored,
        state=state,
        again=again,
        metrics={"select/triggered_share": len(queues) / max(groups, 1)},
    )


def call_confidence(rows: Rows) -> Tensor:
    """(N,) float64: mean probability of the tokens of the first tool call; NaN without one."""
    spans = rows.needed("tool_spans")
    columns = torch.arange(rows.mask.shape[1])
    inside = (columns >= spans[:, :1]) & (columns < spans[:, 1:])
    likely = torch.where(inside, rows.needed("old_logprobs").double(), -torch.inf).exp()
    size = inside.sum(1)
    return torch.where(size > 0, likely.sum(1) / size.clamp(min=1), torch.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCredit:
    advantages: Tensor
    trained: Tensor
    """(N, T) bool: tokens to train on, without the failed call of a continued row (source) and without the
    prefix that its continuations (branches) copy.
    """
    weights: Tensor
    """(N,) float64: weight of a row's loss: G / K for the K branches of a source in a group of G rows (our
    reading of eq. 5), else 1. Branches do not count in the denominator.
    """
    recovery: Tensor
    """(N,) float64: 1 for a source with a right branch, 0 for one without, NaN for other rows."""


def split_credit(
    rows: Rows,
    rewards: Tensor,
    keep: Tensor,
    *,
    correct_above: float = 0.5,
    std: StdKind = "sample",
    eps: float = 1e-4,
) -> SplitCredit:
    """Advantages of the prefix of each continued row (source) and of its continuations (branches), eq. 2 to
    5.

    A source's prefix gets GRPO's advantage with its reward replaced by its recovery; the branches of a source
    are compared among themselves.
    """
    source = rows.needed("source")
    branch = source >= 0
    original = keep & ~branch
    starts = rows.needed("tool_spans")[:, 0]
    cut = torch.where(branch, starts[source.clamp(min=0)], 0)
    plain = standardised(rewards, rows.group, original, std=std, eps=eps)
    among = standardised(rewards, source, keep & branch, std=std, eps=eps)
    values = torch.where(branch, among, plain)
    columns = torch.arange(rows.mask.shape[1])
    trained = rows.mask & keep[:, None] & (columns >= cut[:, None])
    weights = torch.ones(len(rewards), dtype=torch.float64)
    recovery = torch.full((len(rewards),), torch.nan, dtype=torch.float64)
    for row in torch.unique(source[keep & branch]).tolist():
        branches = keep & (source == row)
        recovery[row] = float((rewards[branches] > correct_above).any())
        replaced = rewards.clone()
        replaced[row] = recovery[row]
        values[row] = standardised(replaced, rows.group, original, std=std, eps=eps)[row]
        trained[row] &= columns < starts[row]
        weights[branches] = float((original & (rows.group == rows.group[row])).sum()) / float(branches.sum())
    advantages = torch.where(trained, values[:, None], 0.0)
    return SplitCredit(advantages=advantages, trained=trained, weights=weights, recovery=recovery)
