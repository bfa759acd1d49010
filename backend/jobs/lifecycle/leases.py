"""Periodic checks: expired leases, overdue stops, lost wake-ups."""

from datetime import timedelta

from sqlalchemy import func, select, update

from backend.data.database import Database
from backend.jobs.lifecycle import fair_queue
from backend.jobs.lifecycle.transitions import end_overdue, lock_job, lose_attempt
from backend.models import Job, JobCommand, now
from backend.rpc.wake_ups import WakeUps
from reinforge.states import LEASED, JobStatus

WAKE_AGAIN = timedelta(seconds=10)

STOP_SECONDS = 120.0
STOP_STEPS = 5
STOPPED_BY = {JobStatus.PAUSING: "pause", JobStatus.CANCELLING: "cancel"}


async def expire_leases(database: Database, wake_ups: WakeUps) -> list[str]:
    expired: list[str] = []
    while True:
        async with database.transaction() as session:
            job = await session.scalar(
                select(Job)
                .where(Job.status.in_(LEASED), Job.lease_until < now())
                .order_by(Job.lease_until)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            if job is None:
                return expired
            await lose_attempt(session, job, wake_ups)
            expired.append(job.id)


async def stop_overdue(database: Database) -> list[str]:
    async with database.transaction() as session:
        stopping = list(await session.scalars(select(Job.id).where(Job.status.in_(STOPPED_BY))))
    ended: list[str] = []
    for id in stopping:
        async with database.transaction() as session:
            job = await lock_job(session, id)
            kind = STOPPED_BY.get(JobStatus(job.status))
            requested_at = await session.scalar(
                select(func.max(JobCommand.created_at)).where(
                    JobCommand.job_id == id, JobCommand.kind == kind
                )
            )
            limit = timedelta(
                seconds=max(
                    [STOP_SECONDS, *(STOP_STEPS * step_seconds for step_seconds in job.recent_step_seconds)]
                )
            )
            if requested_at is not None and requested_at < now() - limit:
                await end_overdue(session, job, limit)
                ended.append(id)
    return ended


async def wake_queued(database: Database, wake_ups: WakeUps) -> list[str]:
    """Resend wake-ups of long-queued jobs, one per idle worker so that messages do not pile up."""
    async with database.transaction() as session:
        _, idle = await fair_queue.workers(session)
        stale = (
            select(Job.id)
            .where(Job.status == JobStatus.QUEUED, Job.woken_at < now() - WAKE_AGAIN)
            .order_by(Job.queued_at)
            .limit(idle)
            .with_for_update(skip_locked=True)
        )
        ids = list(await session.scalars(stale))
        await session.execute(update(Job).where(Job.id.in_(ids)).values(woken_at=now()))
    for id in ids:
        if not await wake_ups.send(id):
            break
    return ids
