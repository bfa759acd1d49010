"""Frontier sampling: prefers rows that pass about half of the time.

A row's weight is p·(1 - p) + FLOOR, with p a running mean of its pass rate.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from worker.rollout.collect import Rollout
from worker.rollout.noise import Stream, uniform

FLOOR = 0.05
START = 0.5
MEMORY = 0.5

Rates = Mapping[str, float]


def draw(seed: int, step: int, rows: Sequence[int], rates: Rates, count: int) -> list[int]:
    """Draw `count` positions in `rows` by weight, without replacement: those with the largest u^(1 / weight),
    u uniform (Efraimidis and Spirakis 2006).
    """
    p = np.array([rates.get(str(index), START) for index in rows])
    keys = np.log(uniform(seed, Stream.FRONTIER, step, np.arange(len(rows)))) / (p * (1 - p) + FLOOR)
    order = np.argsort(-keys, kind="stable")
    return [int(order[place % len(rows)]) for place in range(count)]


def learned(
    rates: Rates, rollouts: Sequence[Rollout], rewards: Tensor, pass_above: float
) -> dict[str, float]:
    """Pass rates by row index after a step. rewards: (N,), NaN if missing."""
    passes: dict[str, list[float]] = {}
    for rollout, reward in zip(rollouts, rewards.tolist(), strict=True):
        if not np.isnan(reward):
            passes.setdefault(str(rollout.prompt.row_index), []).append(float(reward > pass_above))
    after = dict(rates)
    for index, passed in passes.items():
        rate = sum(passed) / len(passed)
        after[index] = MEMORY * after.get(index, START) + (1 - MEMORY) * rate
    return after


def passed(rewards: Tensor, pass_above: float) -> Tensor:
    """Whether rows pass, (N,) float64: 1 above `pass_above`, else 0; NaN without a reward."""
    return torch.where(rewards.isnan(), rewards, (rewards > pass_above).double())
