"""Slot 3: credit inside the group. Rows outside `keep` take no part in any statistic and get exactly 0."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from worker.algorithm.rows import UNIFORM_STD, Rows, Slot, lookup


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """Per row, (N,) float64 each: the statistics of the row's group over its kept rows."""

    mean: Tensor
    std: Tensor
    """Sample standard deviation (divides by the number of rows - 1); 0 for a group of one."""
    count: Tensor

    @property
    def uniform(self) -> Tensor:
        """(N,) bool: the group has no signal."""
        return self.std <= UNIFORM_STD


def group_statistics(rewards: Tensor, group: Tensor, keep: Tensor) -> GroupStatistics:
    """Two passes in float64, so that equal rewards give a deviation of exactly 0 and not rounding residue."""
    _, index = torch.unique(group, return_inverse=True)
    kept = keep.to(torch.float64)
    sums = torch.zeros(int(index.max()) + 1 if len(index) else 0, dtype=torch.float64)
    count = sums.index_add(0, index, kept)
    clean = torch.where(keep, rewards.to(torch.float64), 0.0)
    mean = (sums.index_add(0, index, clean) / count.clamp(min=1))[index]
    squares = torch.where(keep, (clean - mean) ** 2, 0.0)
    std = (sums.index_add(0, index, squares) / (count - 1).clamp(min=1)).sqrt()
    return GroupStatistics(mean=mean, std=std[index], count=count[index])


def grpo(rows: Rows, rewards: Tensor, keep: Tensor, *, eps: float = 1e-4) -> Tensor:
    """(R_i - mean) / (std + eps) (DeepSeekMath, eq. 3)."""
    stats = group_statistics(rewards, rows.group, keep)
    return torch.where(keep & ~stats.uniform, (rewards - stats.mean) / (stats.std + eps), 0.0)


def dr_grpo(rows: Rows, rewards: Tensor, keep: Tensor) -> Tensor:
    """R_i - mean (Understanding R1-Zero-like training, section 3)."""
    stats = group_statistics(rewards, rows.group, keep)
    return torch.where(keep & ~stats.uniform, rewards - stats.mean, 0.0)


ADVANTAGES: dict[str, Callable[..., Tensor]] = {"grpo": grpo, "dr_grpo": dr_grpo}

READS_OLD_POLICY: frozenset[str] = frozenset()
"""Types that need `rows.old_logprobs` or `rows.entropies`: a forward pass more before the update."""


def advantages(slot: Slot, rows: Rows, rewards: Tensor, keep: Tensor) -> Tensor:
    """Advantages (N,) or (N, T) float64, constants for the update."""
    function, params = lookup(ADVANTAGES, slot, "advantage")
    return function(rows, rewards, keep, **params)
