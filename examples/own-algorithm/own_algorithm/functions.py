"""What the worker calls."""

import torch
from torch import Tensor

from worker.algorithm.rows import Rows


def centred_rank(rows: Rows, rewards: Tensor, keep: Tensor, *, power: float = 1.0) -> Tensor:
    """(N,) float64: sign(c)·|c|^power, c = (rows of the group below - rows above) / (rows of the group - 1).

    Equal rewards share their rank, so that a group without a difference gets 0. `rewards` (N,) is NaN for rows
    without one; they are outside `keep` (N,) bool, which no statistic may look beyond.
    """
    values = torch.where(keep, rewards, 0.0)
    same = (rows.group[:, None] == rows.group[None, :]) & keep[:, None] & keep[None, :]
    below = (same & (values[None, :] < values[:, None])).sum(1)
    above = (same & (values[None, :] > values[:, None])).sum(1)
    others = (same.sum(1) - 1).clamp(min=1)
    centred = (below - above).to(torch.float64) / others
    return torch.where(keep, centred.sign() * centred.abs() ** power, 0.0)
