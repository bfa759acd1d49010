"""Rows with nothing to learn from: which get no pass, and what is known of them without one."""

from collections.abc import Sequence

import torch
from torch import Tensor

from worker.policy.base import TokenScores
from worker.training.batch import StepBatch


def set_aside(batch: StepBatch, rows: Sequence[int], moving: Tensor) -> Tensor:
    """(n,) bool of `rows`: without anything to learn from, so that no pass is run on them.

    Entropies are reported of every row. Where the engine does not know them a row of each group is looked at, which
    then stands for the others.
    """
    aside = ~moving
    groups, known = batch.rows.group[rows], ~batch.sampler_entropies[rows].isnan().any(1)
    for group in torch.unique(groups[aside & ~known]).tolist():
        mine = groups == group
        if not bool((moving & mine).any()):
            aside[int(mine.nonzero()[0])] = False
    return aside


def as_sampled(scores: TokenScores, batch: StepBatch, rows: list[int], aside: Tensor) -> None:
    """Fill in what the sampler knows of the rows that were set aside, and the mean entropy of the rest of the group
    where it knows none."""
    width = scores.logprobs.shape[1]
    mask, entropies = batch.rows.mask[rows, :width], batch.sampler_entropies[rows, :width]
    scores.logprobs[aside] = batch.sampler_logprobs[rows, :width][aside]
    groups = batch.rows.group[rows]
    for row in (aside & entropies.isnan().any(1)).nonzero()[:, 0].tolist():
        looked = ((groups == groups[row]) & ~aside)[:, None] & mask
        entropies[row] = torch.where(mask[row], scores.entropies[looked].mean(), 0.0)
    scores.entropies[aside] = entropies[aside]
