"""Advantages weighted by token entropies under the sampling policy (nats, without gradient)."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import group_statistics, group_sum
from worker.algorithm.advantages.outcome import grpo
from worker.algorithm.rows import Rows

ENTROPY_FLOOR = 1e-8
"""Keeps divisions by an entropy finite: a token with probability 1 has entropy 0."""

Scope = Literal["separate", "joint"]


def eda(rows: Rows, rewards: Tensor, keep: Tensor, *, eps: float = 1e-4, max_scale: float = 10.0) -> Tensor:
    """GRPO's advantage, (N,), divided by the ratio of P_i, row i's mean token entropy, to its group's mean P.
    EDGE-GRPO (2507.21848).

    Departures from the authors' code: P excludes padding and has no gradient, and the ratio is limited to
    [1 / max_scale, max_scale].
    """
    entropy = rows.row_mean(rows.needed("entropies")).clamp(min=ENTROPY_FLOOR)
    relative = entropy / group_statistics(entropy, rows.group, keep).mean.clamp(min=ENTROPY_FLOOR)
    return grpo(rows, rewards, keep, eps=eps) / relative.clamp(1 / max_scale, max_scale)


@dataclass(frozen=True, slots=True)
class Sides:
    correct: Tensor
    both: Tensor
    """(N,) bool: kept completions of groups with different rewards."""
    number: Tensor
    """(N,) int64: equal for completions on the same side (right or wrong) of the same group."""


def sides(rows: Rows, rewards: Tensor, keep: Tensor, correct_above: float) -> Sides:
    correct = rewards > correct_above
    both = keep & ~group_statistics(rewards, rows.group, keep).uniform
    return Sides(correct, both, 2 * rows.group + correct)


def gtpo(
    rows: Rows,
    rewards: Tensor,
    keep: Tensor,
    *,
    base: float = 1.0,
    entropy_weight: float = 0.1,
    norm_scope: Scope = "separate",
    correct_above: float = 0.5,
    eps: float = 1e-8,
) -> Tensor:
    """Advantages (N, T): `gtpo_rewards` standardised over the right and the wrong rows of a group separately,
    or over the whole group (`joint`, ours).

    GTPO (2508.04349) eq. 3 to 6; deviation is √(population variance + eps).
    """
    which = sides(rows, rewards, keep, correct_above)
    valid = rows.mask & which.both[:, None]
    shaped = gtpo_rewards(rows, which, base, entropy_weight)[valid]
    number = which.number if norm_scope == "separate" else rows.group
    advantages = torch.zeros(rows.mask.shape, dtype=torch.float64)
    advantages[valid] = _normalised(shaped, number[:, None].expand(rows.mask.shape)[valid], eps)
    return advantages


def gtpo_rewards(rows: Rows, which: Sides, base: float, entropy_weight: float) -> Tensor:
    """Token rewards, (N, T) float64. Right rows: base + weight · d_t · H_{i,t} / Σ_k H_{k,t}; wrong rows:
    -base - weight · h_t · H_{j,t}⁻¹ / Σ_k H_{k,t}⁻¹. H is the token entropy; sums and counts d_t, h_t are
    over the group's right (or wrong) rows that have a token t.
    """
    entropy = torch.where(rows.mask, rows.needed("entropies").to(torch.float64), 0.0).clamp(min=0)
    amount = _amount(entropy, which.correct[:, None])
    amount = torch.where(rows.mask & which.both[:, None], amount, 0.0)
    columns = torch.arange(amount.shape[1])
    cell = (which.number[:, None] * amount.shape[1] + columns).flatten()
    total = group_sum(amount.flatten(), cell).reshape(amount.shape)
    alive = group_sum((amount > 0).flatten(), cell).reshape(amount.shape)
    share = torch.where(amount > 0, amount * alive / total, 0.0)
    sign = torch.where(which.correct, 1.0, -1.0)[:, None].double()
    return torch.where(amount > 0, sign * (base + entropy_weight * share), 0.0)


def grpo_s(
    rows: Rows,
    rewards: Tensor,
    keep: Tensor,
    *,
    base: float = 1.0,
    entropy_weight: float = 0.1,
    norm_scope: Scope = "separate",
    correct_above: float = 0.5,
    eps: float = 1e-8,
) -> Tensor:
    """Advantages (N,) like `gtpo`, from each row's mean entropy. GRPO-S (2508.04349) eq. 8 to 11."""
    which = sides(rows, rewards, keep, correct_above)
    shaped = grpo_s_rewards(rows, which, base, entropy_weight)[which.both]
    number = which.number if norm_scope == "separate" else rows.group
    advantages = torch.zeros(len(rewards), dtype=torch.float64)
    advantages[which.both] = _normalised(shaped, number[which.both], eps)
    return advantages


def grpo_s_rewards(rows: Rows, which: Sides, base: float, entropy_weight: float) -> Tensor:
    """Rewards, (N,) float64. Right rows: base + weight · n · H_i / Σ H; wrong rows: -base - weight · m ·
    H_j⁻¹ / Σ H⁻¹. H is a row's mean entropy; sums and counts n, m are over the group's right (or wrong) rows.
    """
    entropy = rows.row_mean(rows.needed("entropies")).clamp(min=0)
    amount = torch.where(which.both, _amount(entropy, which.correct), 0.0)
    count = group_sum(which.both, which.number)
    share = torch.where(which.both, amount * count / group_sum(amount, which.number), 0.0)
    sign = torch.where(which.correct, 1.0, -1.0).double()
    return torch.where(which.both, sign * (base + entropy_weight * share), 0.0)


def lone_side(rows: Rows, rewards: Tensor, keep: Tensor, *, correct_above: float = 0.5) -> tuple[int, int]:
    """Count the groups with a single right or a single wrong row, and all groups whose rewards differ."""
    which = sides(rows, rewards, keep, correct_above)
    numbers = which.number[which.both]
    _, counts = torch.unique(numbers, return_counts=True)
    lonely = torch.unique(torch.unique(numbers)[counts < 2] // 2)
    return len(lonely), len(torch.unique(rows.group[which.both]))


def _amount(entropy: Tensor, correct: Tensor) -> Tensor:
    return torch.where(correct, entropy.clamp(min=ENTROPY_FLOOR), 1 / (entropy + ENTROPY_FLOOR))


def _normalised(values: Tensor, group: Tensor, eps: float) -> Tensor:
    stats = group_statistics(values, group, torch.ones_like(group, dtype=torch.bool))
    scaled = (values - stats.mean) * torch.rsqrt(stats.deviation("population") ** 2 + eps)
    return torch.where(stats.uniform, 0.0, scaled)
