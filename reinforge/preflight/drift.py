"""Where a job goes if it learns: its lengths towards what the reward prefers, its groups towards being all right.

A probe sees the base model only, and a job that learns spends most of its time elsewhere. Halfway between here and
there is what the estimates of hours and memory are made for.
"""

import statistics
from collections.abc import Sequence

from reinforge.preflight.observed import Observed, Sampled

PARTS = 5
SURE = 2.0
"""Standard errors by which a part's rewards have to be better than all rewards."""
LEARNED = 0.9
"""Pass rate at which most jobs are stopped."""


def favoured_tokens(observed: Observed) -> float:
    """Mean length of the fifth of completions, ordered by length, that is rewarded best.

    The mean of all where no fifth is clearly better than the whole: then nothing pulls at the lengths.
    """
    scored = sorted((each for each in observed.completions if each.reward is not None), key=_tokens)
    usual = statistics.fmean(each.tokens for each in observed.completions)
    if len(scored) < 2 * PARTS:
        return usual
    size = len(scored) / PARTS
    parts = [scored[round(size * part) : round(size * (part + 1))] for part in range(PARTS)]
    best = max(parts, key=_reward)
    spread = statistics.pstdev(_rewards(scored))
    if _reward(best) - _reward(scored) <= SURE * spread / len(best) ** 0.5:
        return usual
    return statistics.fmean(each.tokens for each in best)


def growth(observed: Observed) -> float:
    """Mean length over the whole job as a multiple of the base model's."""
    usual = statistics.fmean(each.tokens for each in observed.completions)
    return (1 + favoured_tokens(observed) / max(1.0, usual)) / 2


def widening(observed: Observed) -> float:
    """Time and memory of a step's batches over the whole job as a multiple of the base model's.

    A batch is as wide as its longest completion, decoded and trained on, and some are long from the start: half of
    the growth of the mean.
    """
    return (1 + growth(observed)) / 2


def rounds_to_fill(useful: float, prompts: int, most: int) -> float:
    """What sampling costs until a step has `prompts` useful groups, in rounds of that many prompts; at most `most`.

    Each round asks for what is missing. One of few prompts is as long as its longest completion too, so it costs half
    of what its share spares.
    """
    missing, cost = 1.0, 0.0
    for _ in range(most):
        if missing * prompts < 0.5:
            break
        cost += (1 + missing) / 2
        missing *= 1 - useful
    return cost


def useful_when_learned(size: int) -> float:
    """Share of groups of `size` with both passes and failures where each completion passes `LEARNED` of the time."""
    return float(1 - LEARNED**size - (1 - LEARNED) ** size)


def _tokens(each: Sampled) -> int:
    return each.tokens


def _rewards(part: Sequence[Sampled]) -> list[float]:
    return [each.reward or 0.0 for each in part]


def _reward(part: Sequence[Sampled]) -> float:
    return statistics.fmean(_rewards(part))
