"""Changes of a running job, at step boundaries: each is applied before the first step that it is for.

What an earlier attempt applied is applied again before the same step, so that a resumed job goes the same way.
"""

from collections.abc import Callable, Iterable, Sequence

from reinforge.records import ChangeApplied, Command, RewardChange, ScheduledChange
from worker.reporter import Reporter
from worker.training.journal import Journal


class Changes:
    """apply: makes one change happen; may raise JobFailure, which ends the attempt."""

    def __init__(
        self,
        scheduled: Sequence[ScheduledChange],
        apply: Callable[[RewardChange], None],
        reporter: Reporter,
        journal: Journal,
    ) -> None:
        self._scheduled = list(scheduled)
        self._known = {each.id for each in scheduled}
        self._asked: list[tuple[str, RewardChange]] = []
        self._apply, self._reporter, self._journal = apply, reporter, journal

    def ask(self, commands: Iterable[Command]) -> None:
        """Remember what is asked for now; it waits for the next step."""
        for command in commands:
            if command.change is not None and command.id not in self._known:
                self._known.add(command.id)
                self._asked.append((command.id, command.change))

    def apply(self, step: int) -> None:
        """Apply what is due before `step`: first what an earlier attempt applied by then, then what was asked for."""
        due = [each for each in self._scheduled if each.step <= step]
        self._scheduled = [each for each in self._scheduled if each.step > step]
        for each in due:
            self._one(each.id, each.change, each.step)
        asked, self._asked = self._asked, []
        for id, change in asked:
            self._one(id, change, step)

    def _one(self, id: str, change: RewardChange, step: int) -> None:
        self._apply(change)
        self._reporter.report(ChangeApplied, change=id, step=step)
        self._journal.log("info", f"From step {step} the reward {change.name} is {change.revision}", step)
