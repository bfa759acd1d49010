"""No silent stall: a trainer that says nothing for too long is asked where it is, and ended."""

import time
from collections.abc import Callable

from reinforge.errors import JobFailure
from reinforge.records import Phase, Record, StepMetrics

STALLED = "stalled"
_HINT = (
    "The end of the log shows what its threads were doing. The job goes on from its newest resume state, a few times. "
    "If a phase really takes longer than that here, set REINFORGE_STALL_SECONDS on the worker."
)


class StallWatch:
    """Told every record of a trainer. Progress inside a phase is a record, too."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._heard_at = clock()
        self._place: Phase | None = None
        self._step = 0

    def heard(self, record: Record) -> None:
        self._heard_at = self._clock()
        if isinstance(record, Phase):
            self._place = record
        elif isinstance(record, StepMetrics):
            self._place, self._step = None, record.step

    def overdue(self) -> JobFailure | None:
        """What to say of a trainer that has been silent for too long; None while it has not."""
        silent = self._clock() - self._heard_at
        if silent < self._seconds:
            return None
        message = f"The trainer has said nothing for {silent:,.0f} s. It was {self._where()}."
        return JobFailure(message, code=STALLED, hint=_HINT)

    def _where(self) -> str:
        place = self._place
        if place is None:
            return f"between steps, behind step {self._step}" if self._step else "starting"
        words = [f"{place.phase.replace('_', ' ')} at step {place.step}"]
        if place.total:
            words.append(f"{place.done or 0} of {place.total} prompts were done")
        if place.rows:
            rows = ", ".join(map(str, place.rows))
            words.append(f"it waited for row{'s' if len(place.rows) > 1 else ''} {rows} of the dataset")
        return "; ".join(words)
