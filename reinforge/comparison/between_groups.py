"""Held-out rewards of two groups of jobs: intervals over prompts and jobs."""

import random
from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import fmean

from reinforge.comparison.held_out import FEWEST_PAIRS, Difference, Interval, resampled_means

Rewards = Mapping[str, float]
"""Prompt hash → mean reward of one job."""


class GroupResampler:
    """Bootstrap over prompts and over the jobs of groups. Jobs of the same prompts are resampled together."""

    def __init__(self, jobs: Sequence[Rewards]) -> None:
        self._jobs = jobs
        self._means: dict[tuple[int, int, tuple[str, ...]], list[float]] = {}

    def difference(
        self, baseline: Sequence[int], other: Sequence[int], *, same_dataset: bool = True
    ) -> Difference | None:
        """Mean reward of the jobs `other` minus that of `baseline`; None if one group has no prompts.

        Prompts are paired as in `held_out.difference`, over those that all jobs of both groups share.
        The deviation of resampled jobs from their mean is scaled by √(n / (n - 1)), which makes up for
        the bootstrap's too small variance of few jobs.
        """
        baseline = [job for job in baseline if self._jobs[job]]
        other = [job for job in other if self._jobs[job]]
        if not baseline or not other:
            return None
        first, second = self._shared(baseline), self._shared(other)
        shared = tuple(sorted(set(first) & set(second)))
        smallest = min(len(self._jobs[job]) for job in (*baseline, *other))
        paired = same_dataset and len(shared) >= max(FEWEST_PAIRS, smallest / 2)
        if paired:
            first = second = shared
        if not first or not second:
            return None
        rows = min(len(first), len(second))
        draws = [
            after - before
            for before, after in zip(
                self._resampled(baseline, first, 0),
                self._resampled(other, second, 0 if paired else 1),
                strict=False,
            )
        ]
        value = self._mean(other, second) - self._mean(baseline, first)
        draws.sort()
        low, high = draws[int(0.025 * len(draws))], draws[min(len(draws) - 1, int(0.975 * len(draws)))]
        return Difference(Interval(value, low, high, rows), paired=paired)

    def _shared(self, jobs: Sequence[int]) -> tuple[str, ...]:
        prompts = set(self._jobs[jobs[0]]).intersection(*(self._jobs[job] for job in jobs[1:]))
        return tuple(sorted(prompts))

    def _mean(self, jobs: Sequence[int], prompts: tuple[str, ...]) -> float:
        return fmean(fmean(self._jobs[job][prompt] for prompt in prompts) for job in jobs)

    def _resampled(self, jobs: Sequence[int], prompts: tuple[str, ...], seed: int) -> list[float]:
        """Means of the group over resampled prompts and jobs."""
        columns = list(zip(*(self._job_means(job, prompts, seed) for job in jobs), strict=True))
        count = len(jobs)
        if count == 1:
            return [column[0] for column in columns]
        generator = random.Random(f"jobs {seed} {jobs}")
        scale, means = sqrt(count / (count - 1)), []
        for column in columns:
            center = fmean(column)
            means.append(center + (fmean(generator.choices(column, k=count)) - center) * scale)
        return means

    def _job_means(self, job: int, prompts: tuple[str, ...], seed: int) -> list[float]:
        key = (job, seed, prompts)
        if key not in self._means:
            self._means[key] = resampled_means([self._jobs[job][prompt] for prompt in prompts], seed)
        return self._means[key]
