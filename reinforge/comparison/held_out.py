"""Held-out rewards of two jobs, with bootstrap intervals over prompts."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from statistics import fmean
from typing import Any

DRAWS = 200_000
RESAMPLES = 2000
FEWEST_RESAMPLES = 200
FEWEST_PAIRS = 5


@dataclass(frozen=True, slots=True)
class Interval:
    value: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True, slots=True)
class Difference:
    interval: Interval
    paired: bool


def interval(values: Sequence[float]) -> Interval | None:
    if not values:
        return None
    return _bounds(fmean(values), [resampled_means(values, 0)], len(values))


def difference(
    baseline: Mapping[str, float], other: Mapping[str, float], *, same_dataset: bool = True
) -> Difference | None:
    """Mean reward of `other` minus that of `baseline`; paired by prompt hash if they share half of the prompts."""
    if not baseline or not other:
        return None
    shared = sorted(baseline.keys() & other.keys())
    if same_dataset and len(shared) >= max(FEWEST_PAIRS, min(len(baseline), len(other)) / 2):
        changes = [other[prompt] - baseline[prompt] for prompt in shared]
        paired = interval(changes)
        assert paired is not None
        return Difference(paired, paired=True)
    first, second = list(baseline.values()), list(other.values())
    value = fmean(second) - fmean(first)
    bounds = _bounds(
        value, [resampled_means(first, 0), resampled_means(second, 1)], min(len(first), len(second))
    )
    return Difference(bounds, paired=False)


def resampled_means(values: Sequence[float], seed: int) -> list[float]:
    """Means of bootstrap samples; equal counts and seeds pick the same indices."""
    count = len(values)
    if count == 1:
        return [values[0]] * RESAMPLES
    return [sum(pick(values)) / count for pick in _pickers(count, seed)]


@lru_cache(maxsize=8)
def _pickers(count: int, seed: int) -> list[Callable[[Sequence[float]], Any]]:
    generator, places = random.Random(seed), range(count)
    resamples = max(FEWEST_RESAMPLES, min(RESAMPLES, DRAWS // count))
    return [itemgetter(*generator.choices(places, k=count)) for _ in range(resamples)]


def _bounds(value: float, samples: Sequence[Sequence[float]], rows: int) -> Interval:
    if len(samples) == 1:
        means = sorted(samples[0])
    else:
        means = sorted(last - first for first, last in zip(*samples, strict=False))
    low, high = means[int(0.025 * len(means))], means[min(len(means) - 1, int(0.975 * len(means)))]
    return Interval(value, low, high, rows)
