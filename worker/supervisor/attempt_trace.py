"""OpenTelemetry trace of one attempt at a job, with its steps and their phases, made from the trainer's
records.
"""

import time

from reinforge.records import Ended, Phase, Record, StepMetrics
from reinforge.schemas.worker_api import Claimed
from reinforge.system import tracing
from reinforge.system.tracing import Attributes, TraceSpan

PREPARING = "preparing"
"""Phase before the trainer's first phase: downloads and the trainer's start."""


class AttemptTrace:
    def __init__(self, claimed: Claimed, worker: str) -> None:
        self._ids: Attributes = {"reinforge.job": claimed.job, "reinforge.attempt": claimed.attempt}
        self._attempt = tracing.start(
            "job attempt", claimed.traceparent, attributes={**self._ids, "reinforge.worker": worker}
        )
        self._step: TraceSpan | None = None
        self._step_number = claimed.resume_step
        self._outcome: str | None = None
        self._phase = self._start_phase(PREPARING, 0, time.time())
        self._phase_key = (PREPARING, 0)

    def receive(self, record: Record) -> None:
        match record:
            case Phase() if (record.phase, record.step) != self._phase_key:
                self._enter(record)
            case StepMetrics():
                self._complete(record)
            case Ended():
                self._outcome = record.outcome
                self._close(record.ts, record.reason if record.outcome == "failed" else None)

    def end(self, outcome: str) -> None:
        """outcome: used if the trainer has reported none."""
        failure = None if self._outcome else outcome
        self._close(time.time(), failure)
        self._attempt.set({"reinforge.outcome": self._outcome or outcome})
        if self._outcome in (None, "failed"):
            self._attempt.fail(self._outcome or outcome)
        self._attempt.end()

    def _enter(self, record: Phase) -> None:
        self._phase.end(record.ts)
        if record.step > self._step_number:
            if self._step is not None:
                self._step.end(record.ts)
            self._step_number = record.step
            attributes = {**self._ids, "reinforge.step": record.step}
            self._step = tracing.start("step", self._attempt.traceparent, at=record.ts, attributes=attributes)
        self._phase = self._start_phase(record.phase, record.step, record.ts)
        self._phase_key = (record.phase, record.step)

    def _start_phase(self, phase: str, step: int, at: float) -> TraceSpan:
        parent = self._attempt if self._step is None else self._step
        return tracing.start(
            phase, parent.traceparent, at=at, attributes={**self._ids, "reinforge.step": step}
        )

    def _complete(self, record: StepMetrics) -> None:
        self._phase.end(record.ts)
        self._phase = TraceSpan()
        if self._step is not None and record.step == self._step_number:
            self._step.set(
                {
                    "reinforge.reward_mean": record.values.get("reward/mean"),
                    "reinforge.tokens_per_second": record.values.get("throughput/tokens_per_second"),
                }
            )
            self._step.end(record.ts)
            self._step = None

    def _close(self, at: float, failure: str | None) -> None:
        for span in (self._phase, self._step):
            if span is not None:
                if failure is not None:
                    span.fail(failure)
                span.end(at)
        self._phase, self._step = TraceSpan(), None
