"""DPO term added to the policy loss: the best completion of a prompt against its worst.

A pair's rows may be in different micro-batches: each row adds slope · (Σ logp - stop_gradient(Σ logp)), with
the slope computed before the update.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from worker.algorithm.rows import UNIFORM_STD


@dataclass(frozen=True, slots=True)
class PairTerm:
    """DPO losses and their slopes by row, (N,) float64, before weighting and averaging."""

    losses: Tensor
    """-log σ(beta · margin), on the best row of each pair."""
    slopes: Tensor
    count: int


def dpo_pairs(gains: Tensor, rewards: Tensor, group: Tensor, keep: Tensor, beta: float) -> PairTerm:
    """-log σ(beta · (gain_best - gain_worst)) for each group with unequal rewards (DPO, Rafailov et al. 2023, eq. 7).

    gains: (N,), Σ_t (logp - reference).
    """
    losses, slopes = (
        torch.zeros_like(gains, dtype=torch.float64),
        torch.zeros_like(gains, dtype=torch.float64),
    )
    count = 0
    for number in torch.unique(group[keep]).tolist():
        rows = ((group == number) & keep).nonzero()[:, 0]
        best, worst = rows[rewards[rows].argmax()], rows[rewards[rows].argmin()]
        if float(rewards[best] - rewards[worst]) <= UNIFORM_STD:
            continue
        margin = beta * (gains[best] - gains[worst]).double()
        losses[best] = softplus(-margin)
        slopes[best] = -beta * torch.sigmoid(-margin)
        slopes[worst] = -slopes[best]
        count += 1
    return PairTerm(losses, slopes, count)
