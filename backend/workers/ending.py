"""End of an attempt: the job's new status, or another attempt."""

from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.data.objects import mistrust
from backend.jobs.lifecycle.fork import BEFORE_ATTEMPTS
from backend.jobs.lifecycle.transitions import append_event, change_status, try_again
from backend.models import Adapter, Attempt, Checkpoint, Job, LogLineRow, ResumeState, now
from backend.rpc.wake_ups import WakeUps
from backend.workers.records.metering import count_time
from reinforge.records import Ended
from reinforge.states import JobStatus

BROKEN_OFF = frozenset({"killed", "rank_lost", "trainer_crashed", "stalled"})


async def end_attempt(
    session: AsyncSession, job: Job, attempt: Attempt, record: Ended, wake_ups: WakeUps
) -> None:
    """Apply an `ended` record; a `cancelling` job becomes cancelled in any case."""
    await count_time(session, job, attempt)
    attempt.ended_at, attempt.outcome, attempt.reason = now(), record.outcome, record.reason
    if job.status == JobStatus.CANCELLING:
        await change_status(session, job, JobStatus.CANCELLED, reason=job.reason, error=job.error)
        return
    if await _goes_on(session, job, attempt, record, wake_ups):
        return
    match record.outcome:
        case "succeeded":
            await _succeed(session, job, record.reason)
        case "failed":
            error = _error(record)
            await change_status(session, job, JobStatus.FAILED, reason=error["code"], error=error)
        case "paused":
            if job.status == JobStatus.PAUSING and record.message is None:  # requested: the reason is known
                await change_status(session, job, JobStatus.PAUSED, reason=job.reason, error=job.error)
                return
            why = _error(record) if record.message is not None else None
            await change_status(session, job, JobStatus.PAUSED, reason=record.reason, error=why)
        case "cancelled":
            await change_status(session, job, JobStatus.CANCELLED, reason=record.reason or "trainer_stopped")


async def _goes_on(
    session: AsyncSession, job: Job, attempt: Attempt, record: Ended, wake_ups: WakeUps
) -> bool:
    if record.outcome != "failed" or record.reason is None:
        return False
    if record.reason == "resume_state_invalid":
        if not await _without_its_start(session, job, attempt):
            return False
    elif record.reason not in BROKEN_OFF:
        return False
    if not await try_again(session, job, wake_ups, reason=record.reason):
        return False
    lines = [
        record.message or "The trainer gave no reason.",
        *([record.traceback] if record.traceback else []),
    ]
    fields = {"ts": record.ts, "level": "warning", "message": "\n".join(lines), "step": record.step}
    fields["attempt"] = attempt.number
    seq = await append_event(session, job, "log", {"seq": job.seq + 1, **fields})
    session.add(LogLineRow(job_id=job.id, seq=seq, **fields))
    return True


async def _without_its_start(session: AsyncSession, job: Job, attempt: Attempt) -> bool:
    """Delete the unreadable resume state, so that the next attempt uses an earlier one."""
    dropped = delete(ResumeState).where(
        ResumeState.job_id == job.id,
        ResumeState.step == attempt.resume_step,
        ResumeState.attempt != BEFORE_ATTEMPTS,
    )
    sha256 = await session.scalar(dropped.returning(ResumeState.sha256))
    if sha256 is None:
        return False
    await mistrust(session, sha256)  # repeated steps may produce the same bytes
    return True


def _error(record: Ended) -> dict[str, Any]:
    return {
        "code": record.reason or "trainer_failed",
        "message": record.message or "The trainer gave no reason.",
        "hint": record.hint or "The log has the last lines.",
        "traceback": record.traceback,
    }


async def _succeed(session: AsyncSession, job: Job, reason: str | None) -> None:
    """Make the final checkpoint the job's adapter; without one the job fails."""
    checkpoint = await session.scalar(
        select(Checkpoint)
        .where(Checkpoint.job_id == job.id)
        .order_by(Checkpoint.final.desc(), Checkpoint.step.desc())
        .limit(1)
    )
    if checkpoint is None:
        error = {
            "code": "no_checkpoint",
            "message": "The trainer ended without a checkpoint, so there is no adapter.",
            "hint": "This is a fault of the trainer; its log has the last lines.",
        }
        await change_status(session, job, JobStatus.FAILED, reason="no_checkpoint", error=error)
        return
    if job.purpose != "train":
        await change_status(session, job, JobStatus.SUCCEEDED, reason=reason)
        return
    checkpoint.final = True
    job.adapter_id = new_id("adp_")
    session.add(
        Adapter(
            id=job.adapter_id,
            project_id=job.project_id,
            name=job.name,
            job_id=job.id,
            checkpoint_id=checkpoint.id,
            step=checkpoint.step,
            model_id=job.model_id,
            model_key=job.model_key,
            sha256=checkpoint.sha256,
            bytes=checkpoint.bytes,
            held_out_reward=checkpoint.held_out_reward,
        )
    )
    if job.status == JobStatus.STARTING:  # resumed after its last step: nothing to do
        await change_status(session, job, JobStatus.RUNNING)
    await change_status(session, job, JobStatus.SUCCEEDED, reason=reason)
