"""Watchdogs that detect a silent trainer, and a preparation in which no data arrives."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reinforge.errors import InvalidInput, JobFailure
from reinforge.records import Phase, Record, StepMetrics

STALLED = "stalled"
PREPARING = "preparing"
BETWEEN = "between_steps"
SECONDS: Mapping[str, float] = {
    PREPARING: 900.0,  # reported per piece of a download; for hub models, by its library
    "loading": 1800.0,  # reported when the weights are loaded, and the adapter
    "starting_engine": 1800.0,
    "evaluating": 1800.0,  # reported per finished prompt; long completions take long
    "generating": 1800.0,
    "scoring": 1800.0,  # reported per prompt; a judge may be called several times, each with its own time-out
    "updating": 1800.0,  # reported between micro-batches
    "saving": 600.0,  # files on the worker's own disk, without uploads
    BETWEEN: 600.0,
}
"""Maximum time without a report, in seconds by phase."""
_HINT = (
    "The end of the log shows what its threads were doing. The job is retried a few times, from its newest "
    "resume state. If this phase really takes longer, set REINFORGE_STALL_SECONDS={phase}=SECONDS on the "
    "worker."
)


@dataclass(frozen=True)
class SilenceLimits:
    seconds: Mapping[str, float]

    @classmethod
    def parse(cls, text: str) -> "SilenceLimits":
        """Parse limits: `600` for all phases, `generating=3600,saving=60` for some, or both. Raises
        InvalidInput `invalid_stall_seconds`.
        """
        seconds = dict(SECONDS)
        for part in filter(None, (part.strip() for part in text.split(","))):
            phase, named, value = part.rpartition("=")
            phase = phase.strip()
            if named and phase not in SECONDS:
                raise _invalid(f"There is no phase {phase!r}.")
            seconds |= dict.fromkeys([phase] if named else SECONDS, _seconds(value))
        return cls(seconds)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise _invalid(f"{text.strip()!r} is not a number of seconds.")
    return seconds


def _invalid(why: str) -> InvalidInput:
    return InvalidInput(
        f"REINFORGE_STALL_SECONDS cannot be read: {why}",
        code="invalid_stall_seconds",
        hint=f"Write seconds for all phases, or for some, as in 600,loading=3600. Phases: {', '.join(SECONDS)}.",
    )


DEFAULT = SilenceLimits(SECONDS)


_UNITS = {"starting_engine": "parts"}


class PreparationWatchdog:
    def __init__(self, bounds: SilenceLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = bounds.seconds[PREPARING], clock
        self._received_at = clock()

    def received(self) -> None:
        self._received_at = self._clock()

    def overdue(self) -> JobFailure | None:
        silent = self._clock() - self._received_at
        if silent < self._seconds:
            return None
        return JobFailure(
            f"No data arrived for {silent:,.0f} s while the model, dataset or resume state was fetched.",
            code=STALLED,
            hint="Check the disk with REINFORGE_HOME or the model's folder. The job is retried a few times. "
            f"If fetching takes longer, set REINFORGE_STALL_SECONDS={PREPARING}=SECONDS on the worker.",
        )


class Watchdog:
    def __init__(self, bounds: SilenceLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds, self._clock = bounds, clock
        self._received_at = clock()
        self._place: Phase | None = None
        self._step = 0

    def received(self, record: Record) -> None:
        self._received_at = self._clock()
        if isinstance(record, Phase):
            self._place = record
        elif isinstance(record, StepMetrics):
            self._place, self._step = None, record.step

    def overdue(self) -> JobFailure | None:
        silent = self._clock() - self._received_at
        phase = self._place.phase if self._place is not None else BETWEEN
        if silent < self._bounds.seconds[phase]:
            return None
        message = f"The trainer has reported nothing for {silent:,.0f} s. It was {self._where()}."
        return JobFailure(message, code=STALLED, hint=_HINT.format(phase=phase))

    def _where(self) -> str:
        place = self._place
        if place is None:
            return f"between steps, after step {self._step}" if self._step else "starting"
        words = [f"{place.phase.replace('_', ' ')} at step {place.step}"]
        if place.total:
            units = _UNITS.get(place.phase, "prompts")
            words.append(f"{place.done or 0} of {place.total} {units} were done")
        if place.rows:
            rows = ", ".join(map(str, place.rows))
            words.append(f"it waited for row{'s' if len(place.rows) > 1 else ''} {rows} of the dataset")
        return "; ".join(words)
