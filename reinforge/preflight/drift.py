"""Estimates how completion lengths and useful groups change during learning."""

import statistics
from collections.abc import Sequence

from reinforge.preflight.observed import Observed, ObservedCompletion

PARTS = 5
SURE = 2.0
"""Standard errors by which a length quintile's mean reward has to exceed the overall mean."""
LEARNED = 0.9


def favoured_tokens(observed: Observed) -> float:
    """Mean tokens of the length quintile with the highest reward; of all completions if none stands out."""
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
    usual = statistics.fmean(completion.tokens for completion in observed.completions)
    return (1 + favoured_tokens(observed) / max(1.0, usual)) / 2


def widening(observed: Observed) -> float:
    """Factor by which time and memory grow: half the growth in length, because batches are padded."""
    return (1 + growth(observed)) / 2


def rounds_to_fill(useful: float, prompts: int, most: int) -> float:
    """Expected sampling rounds, at most `most`, for `prompts` useful groups. useful: share of such groups."""
    missing, cost = 1.0, 0.0
    for _ in range(most):
        if missing * prompts < 0.5:
            break
        cost += (1 + missing) / 2
        missing *= 1 - useful
    return cost


def useful_when_learned(size: int) -> float:
    return float(1 - LEARNED**size - (1 - LEARNED) ** size)


def _tokens(sampled: ObservedCompletion) -> int:
    return sampled.tokens


def _rewards(part: Sequence[ObservedCompletion]) -> list[float]:
    return [sampled.reward or 0.0 for sampled in part]


def _reward(part: Sequence[ObservedCompletion]) -> float:
    return statistics.fmean(_rewards(part))
