"""Held-out rewards of two jobs, with bootstrap intervals over prompts."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

DRAWS = 200_000
"""Values drawn for one interval: many rows are resampled less often, so that 50 jobs take seconds."""
RESAMPLES = 2000
FEWEST_RESAMPLES = 200
FEWEST_PAIRS = 5
"""Prompts that both jobs need for a comparison prompt by prompt."""


@dataclass(frozen=True, slots=True)
class Interval:
    value: float
    low: float
    high: float
    """Bounds of the 95 % bootstrap interval."""
    rows: int


@dataclass(frozen=True, slots=True)
class Difference:
    interval: Interval
    paired: bool
    """Both jobs have the same prompts, compared one by one; otherwise two samples of prompts."""


def interval(values: Sequence[float]) -> Interval | None:
    """The mean over prompts; None without any."""
    if not values:
        return None
    return _bounds(fmean(values), [_means(values, 0)], len(values))


def difference(
    baseline: Mapping[str, float], other: Mapping[str, float], *, same_dataset: bool = True
) -> Difference | None:
    """Mean reward of `other` minus that of `baseline`, each prompt hash → mean reward; None if one has no prompts.

    Prompts are paired where they are of the same dataset, and the jobs share at least half of them and `FEWEST_PAIRS`,
    which takes their difficulty out of the difference.
    """
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
    bounds = _bounds(value, [_means(first, 0), _means(second, 1)], min(len(first), len(second)))
    return Difference(bounds, paired=False)


def _means(values: Sequence[float], seed: int) -> list[float]:
    generator, count = random.Random(seed), len(values)
    resamples = max(FEWEST_RESAMPLES, min(RESAMPLES, DRAWS // count))
    return [fmean(generator.choices(values, k=count)) for _ in range(resamples)]


def _bounds(value: float, samples: Sequence[Sequence[float]], rows: int) -> Interval:
    """Bounds of the last sample's means, minus the first's if there are two."""
    if len(samples) == 1:
        means = sorted(samples[0])
    else:
        means = sorted(last - first for first, last in zip(*samples, strict=False))
    low, high = means[int(0.025 * len(means))], means[min(len(means) - 1, int(0.975 * len(means)))]
    return Interval(value, low, high, rows)
