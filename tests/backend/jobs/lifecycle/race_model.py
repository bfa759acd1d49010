"""Model of a job's state: the documented outcomes (`docs/jobs.md`) as one pure function.

`after(model, action)` gives the job as it is then and the status of the answer. It knows nothing of the database.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from backend.jobs.lifecycle.leases import STOP_SECONDS, STOP_STEPS, STOPPED_BY
from backend.jobs.lifecycle.transitions import MAX_LOST_ATTEMPTS
from backend.workers.records.apply import RESUME_STATES_PER_JOB
from reinforge.states import FINAL, LEASED, JobStatus

S = JobStatus
Doing = Literal[
    "pause", "cancel", "resume", "checkpoint", "change", "claim",
    "records", "heartbeat", "take leases", "stop overdue",
]  # fmt: skip
BROKEN_OFF = ("killed", "rank_lost", "trainer_crashed", "stalled")
RECENT = 20


@dataclass(frozen=True)
class Request:
    """A command or a change, and who did it first."""

    kind: str
    applied: tuple[int, int] | None = None
    """Attempt and step; of a change the step alone counts."""


@dataclass(frozen=True)
class Model:
    """A job as the database should have it."""

    status: JobStatus = S.QUEUED
    reason: str | None = None
    attempt: int = 0
    held: bool = False
    """The newest attempt may speak for the job."""
    stored: int = 0
    """Sequence up to which the newest attempt's records are."""
    lost: int = 0
    step: int = 0
    start: int = 0
    """Step of the resume state that the newest attempt began with."""
    resumes: tuple[int, ...] = ()
    points: tuple[tuple[int, float], ...] = ()
    logs: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    """Of the last steps."""
    commands: tuple[Request, ...] = ()
    changes: tuple[Request, ...] = ()
    # What the tests have done to the clock, which no column tells.
    expired: bool = field(default=False, compare=False)
    old: int = field(default=0, compare=False)
    """So many of the commands were asked for longer ago than anything may take."""

    @property
    def stop_within(self) -> float:
        """Seconds after which a job that was asked to stop has."""
        return max([STOP_SECONDS, *(STOP_STEPS * seconds for seconds in self.seconds)])

    @property
    def overdue(self) -> bool:
        kind = STOPPED_BY.get(self.status)
        places = [place for place, command in enumerate(self.commands) if command.kind == kind]
        return bool(places) and places[-1] < self.old

    def pending(self) -> list[int]:
        return [place for place, command in enumerate(self.commands) if command.applied is None]


@dataclass(frozen=True)
class Action:
    """Something that a person, a worker or the sweep does."""

    doing: Doing
    attempt: int = 0
    """Whose report it is."""
    first: int = 1
    """Sequence of the first record."""
    records: tuple[tuple[Any, ...], ...] = ()
    """Kind and content: `(log, text)`, `(step, number, value, seconds)`, `(started, step)`, `(resume, step)`,
    `(checkpoint, step)`, `(command, place)`, `(change, place, step)`, `(end, outcome, reason, message)`."""
    applied: tuple[int, ...] = ()
    """Places of the commands that a heartbeat says the trainer has heard."""

    @property
    def last(self) -> int:
        return self.first + len(self.records) - 1


def after(model: Model, action: Action) -> tuple[Model, int]:
    """The job, and the status of the answer; 0 for the sweep, which nobody answers."""
    match action.doing:
        case "records":
            return _record(model, action)
        case "heartbeat":
            if not (model.held and action.attempt == model.attempt):
                return model, 409
            applied = [place for place in action.applied if model.commands[place].kind != "checkpoint"]
            return replace(_obeyed(model, applied), expired=False), 200
        case "take leases":
            return _lost(model) if model.held and model.expired else model, 0
        case "stop overdue":
            if not model.overdue:
                return model, 0
            end = S.PAUSED if model.status is S.PAUSING else S.CANCELLED
            return _without_worker(model, end, model.reason), 0
        case _:
            return _commanded(model, action.doing)


def _commanded(model: Model, doing: Doing) -> tuple[Model, int]:
    status = model.status
    match doing:
        case "pause" if status in (S.QUEUED, S.STARTING):
            return _without_worker(model, S.PAUSED, "pause_requested"), 200
        case "pause" if status is S.RUNNING:
            requested = _ask(model, "checkpoint", "pause")
            return replace(requested, status=S.PAUSING, reason="pause_requested"), 200
        case "pause":
            return model, 200 if status in (S.PAUSING, S.PAUSED) else 409
        case "cancel" if status in (S.QUEUED, S.PAUSED):
            return _without_worker(model, S.CANCELLED, "requested"), 200
        case "cancel" if status in (S.STARTING, S.RUNNING, S.PAUSING):
            return replace(_ask(model, "cancel"), status=S.CANCELLING, reason="requested"), 200
        case "resume" if status is S.PAUSED:
            pauses = {place for place, command in enumerate(model.commands) if command.kind == "pause"}
            own = pauses | {place - 1 for place in pauses}  # with the checkpoint that a pause asks for
            done = [place for place in model.pending() if place in own]
            return replace(_obeyed(model, done), status=S.QUEUED, reason=None, lost=0), 200
        case "checkpoint" if status is S.RUNNING:
            waits = any(model.commands[place].kind == "checkpoint" for place in model.pending())
            return model if waits else _ask(model, "checkpoint"), 202
        case "change" if status not in FINAL:
            return replace(model, changes=(*model.changes, Request("change"))), 201
        case "claim":
            return (_claimed(model), 200) if status is S.QUEUED else (model, 204)
    return model, 409


def _claimed(model: Model) -> Model:
    """One history survives: what came after the resume state goes, log lines stay."""
    start = max(model.resumes, default=0)
    points = tuple(point for point in model.points if point[0] <= start) if model.resumes else ()
    again = model.attempt > 0
    return replace(
        model,
        status=S.STARTING,
        reason=None,
        attempt=model.attempt + 1,
        held=True,
        expired=False,
        stored=0,
        start=start,
        step=start if again else model.step,
        points=points if again else model.points,
    )


def _record(model: Model, action: Action) -> tuple[Model, int]:
    """A batch is stored whole or not at all, and once."""
    if action.attempt != model.attempt:
        return model, 409
    if action.last <= model.stored:
        return model, 200
    if not model.held:
        return model, 409
    if action.first > model.stored + 1:
        return model, 422
    updated = model
    for record in action.records[model.stored + 1 - action.first :]:
        if not updated.held:
            return model, 409
        updated = _tell(updated, record)
    return replace(updated, stored=action.last), 200


def _tell(model: Model, record: tuple[Any, ...]) -> Model:
    match record:
        case ("started", step):
            return (
                replace(model, step=step, status=S.RUNNING, reason=None)
                if model.status is S.STARTING
                else (replace(model, step=step))
            )
        case ("log", text):
            return replace(model, logs=(*model.logs, text))
        case ("step", step, value, seconds):
            points = dict(model.points) | {step: value}
            recent = (*model.seconds, seconds)[-RECENT:]
            return replace(model, step=step, points=tuple(sorted(points.items())), seconds=recent)
        case ("resume", step):
            resumes = sorted({*model.resumes, step})[-RESUME_STATES_PER_JOB:]
            return replace(model, resumes=tuple(resumes), lost=0)
        case ("command", place):
            return _obeyed(model, [place])
        case ("change", place, step):
            changes = list(model.changes)
            changes[place] = replace(changes[place], applied=changes[place].applied or (0, step))
            return replace(model, changes=tuple(changes))
        case ("end", outcome, reason, message):
            return _ended(model, outcome, reason, message)
        case _:
            return model


def _ended(model: Model, outcome: str, reason: str | None, message: str | None) -> Model:
    if model.status is S.CANCELLING:
        return _without_worker(model, S.CANCELLED, "requested")
    torn = outcome == "failed" and reason == "resume_state_invalid" and model.start in model.resumes
    if torn:
        model = replace(model, resumes=tuple(resume for resume in model.resumes if resume != model.start))
    if outcome == "failed" and (torn or reason in BROKEN_OFF):
        model = replace(model, lost=model.lost + 1)
        logged = replace(model, logs=(*model.logs, message or "The trainer gave no reason."))
        if model.status is S.PAUSING:
            return _without_worker(logged, S.PAUSED, model.reason)
        if model.lost < MAX_LOST_ATTEMPTS:
            return _without_worker(logged, S.QUEUED, reason)
    if outcome == "paused" and model.status is S.PAUSING and message is None:
        reason = model.reason
    if outcome == "cancelled":
        reason = reason or "trainer_stopped"
    return _without_worker(model, S(outcome), reason)


def _lost(model: Model) -> Model:
    model = replace(model, lost=model.lost + 1)
    match model.status:
        case S.CANCELLING:
            return _without_worker(model, S.CANCELLED, "requested")
        case S.PAUSING:
            return _without_worker(model, S.PAUSED, model.reason)
        case _ if model.lost < MAX_LOST_ATTEMPTS:
            return _without_worker(model, S.QUEUED, "lease_lost")
    return _without_worker(model, S.FAILED, "worker_lost")


def _without_worker(model: Model, status: JobStatus, reason: str | None) -> Model:
    assert status not in LEASED
    return replace(model, status=status, reason=reason, held=False, expired=False)


def _ask(model: Model, *kinds: str) -> Model:
    return replace(model, commands=(*model.commands, *map(Request, kinds)))


def _obeyed(model: Model, places: Iterable[int]) -> Model:
    """The first attempt that did it keeps the honour."""
    commands = list(model.commands)
    for place in places:
        done = commands[place].applied or (model.attempt, model.step)
        commands[place] = replace(commands[place], applied=done)
    return replace(model, commands=tuple(commands))
