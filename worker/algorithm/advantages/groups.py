from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from worker.algorithm.rows import UNIFORM_STD

StdKind = Literal["sample", "population"]
"""Divisor of the sum of squared deviations: the number of values - 1 (`sample`, as TRL and verl), or the
number (`population`).
"""


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """Statistics of the group of each of M values, (M,) float64."""

    mean: Tensor
    squares: Tensor
    count: Tensor

    def deviation(self, kind: StdKind) -> Tensor:
        """(M,) standard deviation; 0 for a group of one."""
        return (self.squares / (self.count - int(kind == "sample")).clamp(min=1)).sqrt()

    @property
    def std(self) -> Tensor:
        return self.deviation("sample")

    @property
    def uniform(self) -> Tensor:
        """(M,) bool: whether the group's deviation is at most UNIFORM_STD."""
        return self.std <= UNIFORM_STD


def group_statistics(values: Tensor, group: Tensor, keep: Tensor) -> GroupStatistics:
    """Statistics of the kept `values` (M,) of each group. group: group numbers (M,); keep: (M,) bool.

    Two passes in float64, so that equal values give a deviation of exactly 0.
    """
    _, index = torch.unique(group, return_inverse=True)
    clean = torch.where(keep, values.to(torch.float64), 0.0)
    count = group_sum(keep.to(torch.float64), index)
    mean = group_sum(clean, index) / count.clamp(min=1)
    squares = group_sum(torch.where(keep, (clean - mean) ** 2, 0.0), index)
    return GroupStatistics(mean=mean, squares=squares, count=count)


def group_sum(values: Tensor, group: Tensor) -> Tensor:
    _, index = torch.unique(group, return_inverse=True)
    sums = torch.zeros(len(values), dtype=torch.float64)
    return sums.index_add(0, index, values.to(torch.float64))[index]


def group_members(group: Tensor, keep: Tensor) -> Iterator[Tensor]:
    """Yields the indices of each group's kept rows."""
    for number in torch.unique(group[keep]).tolist():
        yield torch.nonzero((group == number) & keep).squeeze(1)


def standardised(values: Tensor, group: Tensor, keep: Tensor, *, std: StdKind, eps: float) -> Tensor:
    """(x - mean) / (std + eps) per group, (M,) float64; exactly 0 in uniform groups and outside `keep`."""
    stats = group_statistics(values, group, keep)
    scaled = (values - stats.mean) / (stats.deviation(std) + eps)
    return torch.where(keep & ~stats.uniform, scaled, 0.0)
