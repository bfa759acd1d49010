"""Rows without gradient, whose forward pass is skipped and whose log-probabilities are the sampler's."""

from collections.abc import Sequence

import torch
from torch import Tensor

from worker.policy.base import TokenScores
from worker.training.batch import StepBatch


def skippable_rows(batch: StepBatch, rows: Sequence[int], moving: Tensor) -> Tensor:
    """Mask of the `rows` to skip because they have no gradient, (n,) bool. A group with unknown entropies
    keeps one row to estimate them.
    """
    skipped = ~moving
    groups, has_entropies = batch.rows.group[rows], ~batch.sampler_entropies[rows].isnan().any(1)
    for group in torch.unique(groups[skipped & ~has_entropies]).tolist():
        members = groups == group
        if not bool((moving & members).any()):
            skipped[int(members.nonzero()[0])] = False
    return skipped


def as_sampled(scores: TokenScores, batch: StepBatch, rows: list[int], skipped: Tensor) -> None:
    width = scores.logprobs.shape[1]
    mask, entropies = batch.rows.mask[rows, :width], batch.sampler_entropies[rows, :width]
    scores.logprobs[skipped] = batch.sampler_logprobs[rows, :width][skipped]
    groups = batch.rows.group[rows]
    for row in (skipped & entropies.isnan().any(1)).nonzero()[:, 0].tolist():
        scored = ((groups == groups[row]) & ~skipped)[:, None] & mask
        entropies[row] = torch.where(mask[row], scores.entropies[scored].mean(), 0.0)
    scores.entropies[skipped] = entropies[skipped]
