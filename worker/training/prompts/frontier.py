"""Frontier sampling: prefers rows that pass about half of the time.

A row's weight is p·(1 - p) + FLOOR, p a running mean of its own pass rate; the constants are ours. Which rows a step
gets is a function of the seed, the step and the rates, which travel in the resume state: {row index: p}.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from worker.rollout.collect import Rollout
from worker.rollout.noise import Stream, uniform

FLOOR = 0.05
"""So that rows which always pass or never do are sampled again, and their changes are noticed."""
START = 0.5
"""p of a row that was not sampled yet: the largest weight."""
MEMORY = 0.5
"""Weight of a row's past in its running mean."""

Rates = Mapping[str, float]


def draw(seed: int, step: int, rows: Sequence[int], rates: Rates, count: int) -> list[int]:
    """Places in `rows` (row indices) of a step's `count` rows: without replacement by weight, and again from the
    start where there are fewer.

    The largest u^(1 / weight) are taken (Efraimidis and Spirakis 2006).
    """
    p = np.array([rates.get(str(index), START) for index in rows])
    keys = np.log(uniform(seed, Stream.FRONTIER, step, np.arange(len(rows)))) / (p * (1 - p) + FLOOR)
    order = np.argsort(-keys, kind="stable")
    return [int(order[place % len(rows)]) for place in range(count)]


def learned(
    rates: Rates, rollouts: Sequence[Rollout], rewards: Tensor, pass_above: float
) -> dict[str, float]:
    """The rates after a step; `rewards` (N,), NaN for rows that say nothing."""
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
    """(N,) float64: 1 for a completion that passes, 0 for one that does not, NaN for one without a reward."""
    return torch.where(rewards.isnan(), rewards, (rewards > pass_above).double())
