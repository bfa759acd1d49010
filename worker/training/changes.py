"""Changes of a running job, applied at step boundaries."""

from collections.abc import Callable, Iterable, Sequence

from reinforge.algorithm.live_settings import with_setting
from reinforge.records import Change, ChangeApplied, Command, RewardChange, ScheduledChange
from reinforge.spec import JobSpec
from worker.trainer.reporter import Reporter
from worker.training.reporting.job_reporter import JobReporter


class Changes:
    def __init__(
        self,
        scheduled: Sequence[ScheduledChange],
        replace_reward: Callable[[RewardChange], None],
        reporter: Reporter,
        job_reporter: JobReporter,
    ) -> None:
        self._scheduled = list(scheduled)
        self._change_ids = {change.id for change in scheduled}
        self._requested: list[tuple[str, Change]] = []
        self._replace_reward, self._reporter, self._journal = replace_reward, reporter, job_reporter

    def ask(self, commands: Iterable[Command]) -> None:
        for command in commands:
            if command.change is not None and command.id not in self._change_ids:
                self._change_ids.add(command.id)
                self._requested.append((command.id, command.change))

    def apply(self, step: int, spec: JobSpec) -> JobSpec:
        """Apply earlier attempts' changes due at `step` or before, then requested ones; returns the step's
        specification.
        """
        due = [scheduled for scheduled in self._scheduled if scheduled.step <= step]
        self._scheduled = [scheduled for scheduled in self._scheduled if scheduled.step > step]
        for scheduled in due:
            spec = self._one(scheduled.id, scheduled.change, scheduled.step, spec)
        requested, self._requested = self._requested, []
        for id, change in requested:
            spec = self._one(id, change, step, spec)
        return spec

    def _one(self, id: str, change: Change, step: int, spec: JobSpec) -> JobSpec:
        if isinstance(change, RewardChange):
            self._replace_reward(change)
            description = f"the reward {change.name} has revision {change.revision}"
        else:
            spec = with_setting(spec, change.setting, change.value)
            description = f"{change.setting} is {change.value:g} instead of {change.before:g}"
        self._reporter.report(ChangeApplied, change=id, step=step)
        self._journal.log("info", f"From step {step} {description}", step)
        return spec
