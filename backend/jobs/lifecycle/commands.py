"""Commands for a running trainer, delivered with heartbeats until done."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.models import Job, JobCommand, now
from reinforge.errors import StateConflict
from reinforge.schemas.job_changes import JobCommandView
from reinforge.states import JobStatus


async def ask_for_checkpoint(session: AsyncSession, job: Job) -> JobCommand:
    if job.status != JobStatus.RUNNING:
        raise StateConflict(
            f"The job is {job.status}; only a running job can save a checkpoint.",
            code="job_not_running",
            hint="Its checkpoints are listed with GET /api/v1/jobs/{id}/checkpoints.",
        )
    waiting = select(JobCommand).where(
        JobCommand.job_id == job.id, JobCommand.kind == "checkpoint", JobCommand.applied_at.is_(None)
    )
    command: JobCommand | None = await session.scalar(waiting.limit(1))
    if command is None:
        command = JobCommand(id=new_id("cmd_"), job_id=job.id, kind="checkpoint", created_at=now())
        session.add(command)
        await session.flush()
    return command


async def pending(session: AsyncSession, job_id: str) -> Sequence[JobCommand]:
    query = select(JobCommand).where(JobCommand.job_id == job_id, JobCommand.applied_at.is_(None))
    return (await session.scalars(query.order_by(JobCommand.created_at))).all()


async def mark_received(session: AsyncSession, job: Job, ids: Sequence[str]) -> None:
    """Mark commands as received; `checkpoint` stays pending until the checkpoint is reported."""
    await _applied(session, job, job.step, JobCommand.id.in_(ids), JobCommand.kind != "checkpoint")


async def mark_applied(session: AsyncSession, job: Job, id: str, step: int) -> None:
    await _applied(session, job, step, JobCommand.id == id)


async def _applied(session: AsyncSession, job: Job, step: int, *conditions: ColumnElement[bool]) -> None:
    await session.execute(
        update(JobCommand)
        .where(JobCommand.job_id == job.id, JobCommand.applied_at.is_(None), *conditions)
        .values(applied_at=now(), applied_attempt=job.attempt, applied_step=step)
    )


def view(row: JobCommand) -> JobCommandView:
    return JobCommandView(
        id=row.id,
        job=row.job_id,
        kind=row.kind,
        step=row.applied_step,
        created_at=row.created_at,
        applied_at=row.applied_at,
    )
