"""Changes of a running job, at step boundaries: each is applied before the first step that it is for.

What an earlier attempt applied is applied again before the same step, so that a resumed job goes the same way.
"""

from collections.abc import Callable, Iterable, Sequence

from reinforge.algorithm.live_settings import with_setting
from reinforge.records import Change, ChangeApplied, Command, RewardChange, ScheduledChange
from reinforge.spec import JobSpec
from worker.trainer.reporter import Reporter
from worker.training.reporting.job_reporter import Journal


class Changes:
    """replace_reward: makes another revision score; may raise JobFailure, which ends the attempt."""

    def __init__(
        self,
        scheduled: Sequence[ScheduledChange],
        replace_reward: Callable[[RewardChange], None],
        reporter: Reporter,
        journal: Journal,
    ) -> None:
        self._scheduled = list(scheduled)
        self._known = {each.id for each in scheduled}
        self._asked: list[tuple[str, Change]] = []
        self._replace_reward, self._reporter, self._journal = replace_reward, reporter, journal

    def ask(self, commands: Iterable[Command]) -> None:
        """Remember what is asked for now; it waits for the next step."""
        for command in commands:
            if command.change is not None and command.id not in self._known:
                self._known.add(command.id)
                self._asked.append((command.id, command.change))

    def apply(self, step: int, spec: JobSpec) -> JobSpec:
        """Apply what is due before `step`: first what an earlier attempt applied by then, then what was asked for.

        Returns the specification that this step is made with.
        """
        due = [each for each in self._scheduled if each.step <= step]
        self._scheduled = [each for each in self._scheduled if each.step > step]
        for each in due:
            spec = self._one(each.id, each.change, each.step, spec)
        asked, self._asked = self._asked, []
        for id, change in asked:
            spec = self._one(id, change, step, spec)
        return spec

    def _one(self, id: str, change: Change, step: int, spec: JobSpec) -> JobSpec:
        if isinstance(change, RewardChange):
            self._replace_reward(change)
            told = f"the reward {change.name} is {change.revision}"
        else:
            spec = with_setting(spec, change.setting, change.value)
            told = f"{change.setting} is {change.value:g}, before {change.before:g}"
        self._reporter.report(ChangeApplied, change=id, step=step)
        self._journal.log("info", f"From step {step} {told}", step)
        return spec
