"""Estimates how a job changes as it learns: lengths towards the preferred, groups towards all right.

A probe sees only the base model. Hours and memory are estimated for the point halfway.
"""

import statistics
from collections.abc import Sequence

from reinforge.preflight.observed import Observed, Sampled

PARTS = 5
SURE = 2.0
"""Standard errors by which a fifth's rewards have to exceed the mean."""
LEARNED = 0.9
"""Pass rate at which most jobs end."""


def favoured_tokens(observed: Observed) -> float:
    """Mean length of the completions in the length quintile with the highest mean reward.

    The mean of all if no fifth is clearly better: then lengths do not drift.
    """
    scored = sorted((sampled for sampled in observed.completions if sampled.reward is not None), key=_tokens)
    usual = statistics.fmean(completion.tokens for completion in observed.completions)
    if len(scored) < 2 * PARTS:
        return usual
    size = len(scored) / PARTS
    parts = [scored[round(size * part) : round(size * (part + 1))] for part in range(PARTS)]
    best = max(parts, key=_reward)
    spread = statistics.pstdev(_rewards(scored))
    if _reward(best) - _reward(scored) <= SURE * spread / len(best) ** 0.5:
        return usual
    return statistics.fmean(sampled.tokens for sampled in best)


def growth(observed: Observed) -> float:
    """Mean length over the whole job as a multiple of the base model's."""
    usual = statistics.fmean(completion.tokens for completion in observed.completions)
    return (1 + favoured_tokens(observed) / max(1.0, usual)) / 2


def widening(observed: Observed) -> float:
    """Time and memory of a step's batches over the whole job as a multiple of the base model's.

    A batch is padded to its longest completion, and some are long from the start: half of the mean's growth.
    """
    return (1 + growth(observed)) / 2


def rounds_to_fill(useful: float, prompts: int, most: int) -> float:
    """Sampling cost until a step has `prompts` useful groups, in rounds of that many prompts; at most
    `most`.

    Each round samples what is missing. A small round still takes as long as its longest completion, so it
    saves only half of its share.
    """
    missing, cost = 1.0, 0.0
    for _ in range(most):
        if missing * prompts < 0.5:
            break
        cost += (1 + missing) / 2
        missing *= 1 - useful
    return cost


def useful_when_learned(size: int) -> float:
    """Share of mixed groups of `size` if each completion passes with probability `LEARNED`."""
    return float(1 - LEARNED**size - (1 - LEARNED) ** size)


def _tokens(sampled: Sampled) -> int:
    return sampled.tokens


def _rewards(part: Sequence[Sampled]) -> list[float]:
    return [sampled.reward or 0.0 for sampled in part]


def _reward(part: Sequence[Sampled]) -> float:
    return statistics.fmean(_rewards(part))
