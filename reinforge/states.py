"""States of a job: one table of transitions, applied by the backend under the job's row lock.

validating → queued → starting → running → succeeded | failed | cancelled
               ▲                    │
               └── paused ◀── pausing          any non-final state → cancelling → cancelled
pause request: queued | starting → paused at once, running → pausing until its worker has stopped
lost lease: starting | running → queued, with attempt + 1; pausing → paused; cancelling → cancelled
"""

from enum import StrEnum

from reinforge.errors import StateConflict


class JobStatus(StrEnum):
    VALIDATING = "validating"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


S = JobStatus

TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    S.VALIDATING: frozenset({S.QUEUED, S.FAILED, S.CANCELLING, S.CANCELLED}),
    S.QUEUED: frozenset({S.STARTING, S.PAUSED, S.FAILED, S.CANCELLING, S.CANCELLED}),
    S.STARTING: frozenset({S.RUNNING, S.QUEUED, S.PAUSED, S.FAILED, S.CANCELLING, S.CANCELLED}),
    S.RUNNING: frozenset({S.SUCCEEDED, S.FAILED, S.PAUSING, S.PAUSED, S.QUEUED, S.CANCELLING, S.CANCELLED}),
    S.PAUSING: frozenset({S.PAUSED, S.SUCCEEDED, S.FAILED, S.CANCELLING, S.CANCELLED}),
    S.PAUSED: frozenset({S.QUEUED, S.FAILED, S.CANCELLING, S.CANCELLED}),
    S.CANCELLING: frozenset({S.CANCELLED}),
    S.SUCCEEDED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
}

FINAL = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELLED})

LEASED = frozenset({S.STARTING, S.RUNNING, S.PAUSING, S.CANCELLING})
"""States in which a worker may hold the job: heartbeats and records are accepted, and expired leases are
handled.
"""

CANCELLABLE = frozenset(set(JobStatus) - FINAL - {S.CANCELLING})


PAUSABLE = frozenset({S.QUEUED, S.STARTING, S.RUNNING})


def check_transition(old: JobStatus, new: JobStatus) -> None:
    """Raises `StateConflict` unless `TRANSITIONS` allows the change."""
    if new not in TRANSITIONS[old]:
        raise StateConflict(
            f"A job that is {old} cannot become {new}.",
            code="invalid_transition",
            hint="Finished jobs do not change; start a new job with the same specification."
            if old in FINAL
            else f"From {old} a job can become: {', '.join(sorted(TRANSITIONS[old]))}.",
        )
