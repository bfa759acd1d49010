"""Completions of a step: sampled when it begins, or ahead, while the step before is trained (`rollout.ahead`)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar

from reinforge.spec import JobSpec
from worker.environment.base import Prompt
from worker.rewards.base import Scorer
from worker.rollout.collect import Collected, Collector, ProgressCallback
from worker.rollout.conversations import Round
from worker.training.checkpoint.resume_state import Position
from worker.training.checkpoint.sampled_ahead import SampledAhead
from worker.training.prompts.data import JobPrompts
from worker.training.reporting.job_reporter import JobReporter

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class StepCompletions:
    """Provides each step's completions. The engine has one policy version at a time: publish the next one
    only after `finish`.
    """

    def __init__(
        self, collector: Collector, scorer: Scorer, prompts: JobPrompts, job_reporter: JobReporter
    ) -> None:
        self._collector, self._scorer = collector, scorer
        self._prompts, self._job_reporter = prompts, job_reporter
        self._task: asyncio.Task[SampledAhead] | None = None
        self._show_progress: Callable[[], None] = lambda: None

    async def take(self, spec: JobSpec, current: Round, position: Position) -> Collected:
        """Return a round's completions: those sampled ahead, or new ones if there are none or a change of the
        job makes them unusable.
        """
        task, self._task = self._task, None
        if task is not None:
            task.result()
        ahead, position.ahead = position.ahead, None
        if ahead is not None and ahead.fits(current, self._scorer.revisions):
            position.ahead = ahead  # for a resume state, until the step is complete
            return ahead.collected
        prompts = self._step_prompts(spec, current, position)
        progress = self._job_reporter.sampling(current.noise_step, prompts)
        return await self._collector.collect(prompts, current, progress)

    def begin(self, spec: JobSpec, current: Round, position: Position) -> None:
        """Begin to sample the step after `current` with the same policy, if the job samples ahead."""
        if not spec.rollout.ahead or current.noise_step >= spec.limits.steps:
            return
        following = replace(current, noise_step=current.noise_step + 1)
        prompts = self._step_prompts(spec, following, position)
        self._task = asyncio.create_task(self._sample(prompts, following, self._progress(following, prompts)))

    async def beside(
        self, function: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs
    ) -> Result:
        """Call a function and return its result; while completions are sampled, it runs in a thread."""
        if self._task is None:
            return function(*arguments, **named)
        return await asyncio.to_thread(function, *arguments, **named)

    async def finish(self) -> SampledAhead | None:
        """Wait for the completions that `begin` samples. None if there are none or sampling failed; `take`
        then raises the error.
        """
        if self._task is None:
            return None
        if not self._task.done():
            self._show_progress()
            await asyncio.wait([self._task])
        if self._task.cancelled() or self._task.exception() is not None:
            return None
        ahead, self._task = self._task.result(), None
        return ahead

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _sample(
        self, prompts: Sequence[Prompt], following: Round, progress: ProgressCallback
    ) -> SampledAhead:
        revisions = self._scorer.revisions
        return SampledAhead(following, revisions, await self._collector.collect(prompts, following, progress))

    def _step_prompts(self, spec: JobSpec, current: Round, position: Position) -> list[Prompt]:
        count = spec.rollout.prompts_per_step
        return self._prompts.for_step(current.noise_step, count, position.frontier)

    def _progress(self, following: Round, prompts: Sequence[Prompt]) -> ProgressCallback:
        """Progress callback of sampling ahead, which reports only heartbeats during the update."""
        reporting: ProgressCallback | None = None

        def show() -> None:
            nonlocal reporting
            reporting = self._job_reporter.sampling(following.noise_step, prompts)

        def progress(phase: str, done: int, total: int, rows: list[int]) -> None:
            if reporting is None:
                self._job_reporter.heartbeat()
            else:
                reporting(phase, done, total, rows)

        self._show_progress = show
        return progress
