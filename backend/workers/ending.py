"""The end of an attempt, as the trainer (or its supervisor) reports it, decides the job's state."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.ids import new_id
from backend.jobs.lifecycle import change_status
from backend.models import Adapter, Attempt, Checkpoint, Job, now
from backend.workers.metering import count_time
from reinforge.records import Ended
from reinforge.states import JobStatus


async def end_attempt(session: AsyncSession, job: Job, attempt: Attempt, record: Ended) -> None:
    """Apply an `ended` record to a locked job.

    A job that was being cancelled is cancelled, whatever its trainer managed to do in the meantime.
    """
    await count_time(session, job, attempt)
    attempt.ended_at, attempt.outcome, attempt.reason = now(), record.outcome, record.reason
    if job.status == JobStatus.CANCELLING:
        await change_status(session, job, JobStatus.CANCELLED, reason="requested")
        return
    match record.outcome:
        case "succeeded":
            await _succeed(session, job, record.reason)
        case "failed":
            error = _error(record)
            await change_status(session, job, JobStatus.FAILED, reason=error["code"], error=error)
        case "paused":
            if job.status == JobStatus.PAUSING and record.message is None:  # asked for: why is known already
                await change_status(session, job, JobStatus.PAUSED, reason=job.reason, error=job.error)
                return
            why = _error(record) if record.message is not None else None
            await change_status(session, job, JobStatus.PAUSED, reason=record.reason, error=why)
        case "cancelled":
            await change_status(session, job, JobStatus.CANCELLED, reason=record.reason or "trainer_stopped")


def _error(record: Ended) -> dict[str, Any]:
    return {
        "code": record.reason or "trainer_failed",
        "message": record.message or "The trainer gave no reason.",
        "hint": record.hint or "The log has the last lines.",
        "traceback": record.traceback,
    }


async def _succeed(session: AsyncSession, job: Job, reason: str | None) -> None:
    """The final checkpoint becomes the job's adapter. Without one the job has failed, whatever was said.

    `reason`: why it ended before its last step.
    """
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
            sha256=checkpoint.sha256,
            bytes=checkpoint.bytes,
            held_out_reward=checkpoint.held_out_reward,
        )
    )
    if job.status == JobStatus.STARTING:  # resumed behind its last step: there was nothing left to do
        await change_status(session, job, JobStatus.RUNNING)
    await change_status(session, job, JobStatus.SUCCEEDED, reason=reason)
