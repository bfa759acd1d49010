"""State transitions and event numbers of jobs, under the job's row lock."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import after_commit
from backend.data.events import notify
from backend.data.ids import new_id
from backend.jobs.monitoring import verdicts
from backend.jobs.view import job_view
from backend.models import Attempt, Event, Job, JobCommand, LogLineRow, now
from backend.rpc.wake_ups import WakeUps
from backend.webhooks.events import queue_job_event
from reinforge.errors import NotFound, StateConflict
from reinforge.states import CANCELLABLE, FINAL, PAUSABLE, JobStatus, check_transition
from reinforge.system import tracing

MAX_LOST_ATTEMPTS = 5
LOG_TAIL_LINES = 60
PAUSE_REQUESTED = "pause_requested"
CANCEL_REQUESTED = "requested"
_TO_PAUSE = ("checkpoint", "pause")
_WITHOUT_WORKER = frozenset({JobStatus.VALIDATING, JobStatus.QUEUED, JobStatus.PAUSED})


async def lock_job(session: AsyncSession, job_id: str, project_id: str | None = None) -> Job:
    query = select(Job).where(Job.id == job_id).with_for_update()
    if project_id is not None:
        query = query.where(Job.project_id == project_id)
    job = await session.scalar(query.execution_options(populate_existing=True))
    if job is None:
        raise unknown_job(job_id)
    return job


def unknown_job(job_id: str) -> NotFound:
    return NotFound(
        f"There is no job {job_id}.",
        code="job_not_found",
        param="id",
        hint="`reinforge job list` shows all.",
    )


async def append_event(
    session: AsyncSession, job: Job, type: str, data: dict[str, Any], *, step: int | None = None
) -> int:
    """Add an event to a locked job; returns its sequence number. An event without step survives a resume."""
    job.seq += 1
    session.add(Event(job_id=job.id, seq=job.seq, type=type, data=data, step=step))
    await wake_watchers(session, job)
    return job.seq


async def wake_watchers(session: AsyncSession, job: Job) -> None:
    if session.info.get("notified") != (job.id, session.get_transaction()):
        session.info["notified"] = (job.id, session.get_transaction())
        await notify(session, f"job:{job.id}")


async def change_status(
    session: AsyncSession,
    job: Job,
    status: JobStatus,
    *,
    reason: str | None = None,
    error: dict[str, Any] | None = None,
) -> None:
    """Change the status of a locked job. Raises StateConflict if the transition is not allowed."""
    check_transition(JobStatus(job.status), status)
    job.status, job.reason, job.error = status, reason, error
    moment = now()
    if status in FINAL:
        job.finished_at = moment
    if status is JobStatus.QUEUED:
        job.queued_at = moment
    if status is JobStatus.RUNNING and job.started_at is None:
        job.started_at = moment
    if status in FINAL or status in _WITHOUT_WORKER:
        job.lease_until = None
        job.phase = job.phase_step = job.phase_done = job.phase_total = None
    if status in FINAL or status is JobStatus.PAUSED:
        await verdicts.refresh(session, job)
    elif status is JobStatus.QUEUED:
        job.verdict = None  # it goes on
    await append_event(session, job, "status", job_view(job).model_dump(mode="json"))
    await queue_job_event(session, job)


async def enqueue(session: AsyncSession, job: Job, wake_ups: WakeUps, *, reason: str | None = None) -> None:
    before = job.queued_at
    job.trace_context = job.trace_context or tracing.current()
    await change_status(session, job, JobStatus.QUEUED, reason=reason)
    if reason is not None:
        job.queued_at = before
    job.woken_at = now()
    after_commit(session, lambda: wake_ups.send(job.id))


async def cancel(
    session: AsyncSession, job: Job, *, reason: str = CANCEL_REQUESTED, error: dict[str, Any] | None = None
) -> None:
    """Cancel a locked job: at once if no worker has it, else by a command. Raises StateConflict
    `job_not_cancellable` if it has ended or is being cancelled.
    """
    status = JobStatus(job.status)
    if status not in CANCELLABLE:
        raise StateConflict(
            f"The job is {status} and cannot be cancelled.",
            code="job_not_cancellable",
            hint="It is being cancelled already." if status is JobStatus.CANCELLING else "It has ended.",
        )
    if status in _WITHOUT_WORKER:
        await change_status(session, job, JobStatus.CANCELLED, reason=reason, error=error)
        return
    session.add(JobCommand(id=new_id("cmd_"), job_id=job.id, kind="cancel"))
    await change_status(session, job, JobStatus.CANCELLING, reason=reason, error=error)


async def pause(
    session: AsyncSession, job: Job, *, reason: str = PAUSE_REQUESTED, error: dict[str, Any] | None = None
) -> None:
    """Pause a locked job: by a command if it is running, else at once; no effect if it is pausing or
    paused. Raises StateConflict `job_not_pausable` if it has ended or is about to end.
    """
    status = JobStatus(job.status)
    if status in (JobStatus.PAUSING, JobStatus.PAUSED):
        return
    if status not in PAUSABLE:
        raise StateConflict(
            f"The job is {status} and cannot be paused.",
            code="job_not_pausable",
            hint="It has ended." if status in FINAL else "It is about to end.",
        )
    if status is JobStatus.STARTING:
        # The worker's next heartbeat is refused, and the worker ends the trainer.
        await end_attempt_here(session, job, "paused")
    if status is not JobStatus.RUNNING:
        await change_status(session, job, JobStatus.PAUSED, reason=reason, error=error)
        return
    moment = now()  # shared by both commands: distinguishes this checkpoint from a requested one
    for kind in _TO_PAUSE:
        session.add(JobCommand(id=new_id("cmd_"), job_id=job.id, kind=kind, created_at=moment))
    await change_status(session, job, JobStatus.PAUSING, reason=reason, error=error)


async def resume(session: AsyncSession, job: Job, wake_ups: WakeUps) -> None:
    status = JobStatus(job.status)
    if status is not JobStatus.PAUSED:
        raise StateConflict(
            f"The job is {status}; only a paused job can be resumed.",
            code="job_not_paused",
            hint=_why_not_resumed(status),
        )
    job.lost_attempts = 0
    # The worker may have stopped before it could say that it had heard: the next attempt is not to stop again. A
    # checkpoint that was asked for by itself, and is not made yet, is the next attempt's.
    open_commands = (JobCommand.job_id == job.id, JobCommand.applied_at.is_(None))
    pauses = select(JobCommand.created_at).where(JobCommand.job_id == job.id, JobCommand.kind == "pause")
    await session.execute(
        update(JobCommand)
        .where(*open_commands, JobCommand.kind.in_(_TO_PAUSE), JobCommand.created_at.in_(pauses))
        .values(applied_at=now(), applied_attempt=job.attempt, applied_step=job.step)
    )
    await enqueue(session, job, wake_ups)


def _why_not_resumed(status: JobStatus) -> str:
    if status in FINAL:
        return "The job has ended; start a new job with the same specification."
    return "Resume it once it has paused." if status is JobStatus.PAUSING else "It continues by itself."


async def lose_attempt(session: AsyncSession, job: Job, wake_ups: WakeUps) -> None:
    """Handle a locked job's expired lease: queue it again, finish a requested stop, or fail the job."""
    await end_attempt_here(session, job, "lost")
    if not await try_again(session, job, wake_ups, reason="lease_lost"):
        error = {
            "code": "worker_lost",
            "message": f"The worker was lost {job.lost_attempts} times without a checkpoint in between.",
            "hint": "Check the worker's log (it may have run out of memory), then start the job again.",
            "traceback": await _log_tail(session, job.id),
        }
        await change_status(session, job, JobStatus.FAILED, reason="worker_lost", error=error)


async def try_again(session: AsyncSession, job: Job, wake_ups: WakeUps, *, reason: str) -> bool:
    """Queue a locked, interrupted job again, or finish a requested stop. Returns False after
    `MAX_LOST_ATTEMPTS` interruptions without a new resume state.
    """
    job.lost_attempts += 1
    if job.status == JobStatus.CANCELLING:
        await change_status(session, job, JobStatus.CANCELLED, reason=job.reason, error=job.error)
    elif job.status == JobStatus.PAUSING:
        await change_status(session, job, JobStatus.PAUSED, reason=job.reason, error=job.error)
    elif job.lost_attempts < MAX_LOST_ATTEMPTS:
        await enqueue(session, job, wake_ups, reason=reason)
    else:
        return False
    return True


async def end_overdue(session: AsyncSession, job: Job, waited: timedelta) -> None:
    await end_attempt_here(session, job, "overdue")
    if job.status == JobStatus.CANCELLING:
        await change_status(session, job, JobStatus.CANCELLED, reason=job.reason, error=job.error)
        return
    error = {
        "code": "pause_overdue",
        "message": f"The trainer did not stop within {waited.total_seconds():.0f} s, so it was terminated.",
        "hint": "A resumed job continues from its last resume state and repeats the steps after it.",
    }
    await change_status(session, job, JobStatus.PAUSED, reason=job.reason, error=error)


async def end_attempt_here(session: AsyncSession, job: Job, outcome: str) -> None:
    attempt = await session.get_one(Attempt, (job.id, job.attempt))
    attempt.ended_at, attempt.outcome = now(), outcome


async def _log_tail(session: AsyncSession, job_id: str) -> str | None:
    query = select(LogLineRow.message).where(LogLineRow.job_id == job_id)
    lines = (await session.scalars(query.order_by(LogLineRow.seq.desc()).limit(LOG_TAIL_LINES))).all()
    return "\n".join(reversed(lines)) or None


def lease_end(lease_seconds: float) -> datetime:
    return now() + timedelta(seconds=lease_seconds)
