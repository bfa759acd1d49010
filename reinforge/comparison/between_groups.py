"""Held-out rewards of two groups of jobs: intervals over prompts and jobs."""

import random
from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import fmean

from reinforge.comparison.held_out import FEWEST_PAIRS, Difference, Interval, resampled_means

Rewards = Mapping[str, float]
Prompts = tuple[str, ...]


class GroupResampler:
    """Bootstrap over prompts and jobs of groups. Jobs with the same prompts share the resampled prompts."""

    def __init__(self, jobs: Sequence[Rewards]) -> None:
        self._jobs = jobs
        self._means: dict[tuple[int, int, Prompts], list[float]] = {}

    def difference(
        self, baseline: Sequence[int], other: Sequence[int], *, same_dataset: bool = True
    ) -> Difference | None:
        """Mean reward of the jobs `other` minus that of `baseline`, paired by prompt if jobs share half of them.

        Deviations of resampled jobs are scaled by √(n / (n - 1)), against the bootstrap's bias for few jobs.
        """
        baseline = [job for job in baseline if self._jobs[job]]
        other = [job for job in other if self._jobs[job]]
        if not baseline or not other:
            return None
        shared = self._shared([*baseline, *other]) if same_dataset else None
        first = [shared] * len(baseline) if shared else self._prompts(baseline)
        second = [shared] * len(other) if shared else self._prompts(other)
        rows = min(map(len, (*first, *second)))
        draws = [
            after - before
            for before, after in zip(
                self._resampled(baseline, first, 0),
                self._resampled(other, second, 0 if shared else 1),
                strict=False,
            )
        ]
        value = self._mean(other, second) - self._mean(baseline, first)
        draws.sort()
        low, high = draws[int(0.025 * len(draws))], draws[min(len(draws) - 1, int(0.975 * len(draws)))]
        return Difference(Interval(value, low, high, rows), paired=shared is not None)

    def _shared(self, jobs: Sequence[int]) -> Prompts | None:
        prompts = set(self._jobs[jobs[0]]).intersection(*(self._jobs[job] for job in jobs[1:]))
        smallest = min(len(self._jobs[job]) for job in jobs)
        return tuple(sorted(prompts)) if len(prompts) >= max(FEWEST_PAIRS, smallest / 2) else None

    def _prompts(self, jobs: Sequence[int]) -> list[Prompts]:
        shared = self._shared(jobs)
        return [shared or tuple(sorted(self._jobs[job])) for job in jobs]

    def _mean(self, jobs: Sequence[int], prompts: Sequence[Prompts]) -> float:
        return fmean(
            fmean(self._jobs[job][prompt] for prompt in own) for job, own in zip(jobs, prompts, strict=True)
        )

    def _resampled(self, jobs: Sequence[int], prompts: Sequence[Prompts], seed: int) -> list[float]:
        together = len(set(prompts)) == 1
        samples = [
            self._job_means(job, own, seed if together else 2 + job)
            for job, own in zip(jobs, prompts, strict=True)
        ]
        columns = list(zip(*samples, strict=False))
        count = len(jobs)
        if count == 1:
            return [column[0] for column in columns]
        generator = random.Random(f"jobs {seed} {jobs}")
        scale, means = sqrt(count / (count - 1)), []
        for column in columns:
            center = fmean(column)
            means.append(center + (fmean(generator.choices(column, k=count)) - center) * scale)
        return means

    def _job_means(self, job: int, prompts: Prompts, seed: int) -> list[float]:
        key = (job, seed, prompts)
        if key not in self._means:
            self._means[key] = resampled_means([self._jobs[job][prompt] for prompt in prompts], seed)
        return self._means[key]
