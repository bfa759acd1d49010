"""What time does to jobs: leases run out, and wake-ups may have been lost."""

from datetime import timedelta

from sqlalchemy import select, update

from backend.database import Database
from backend.jobs.lifecycle import lose_attempt
from backend.models import Job, now
from backend.queue import WakeUps
from reinforge.states import LEASED, JobStatus

WAKE_AGAIN = timedelta(seconds=20)
"""A queued job that nobody has claimed is announced again after this long; with the sweep's pause under 30 s."""


async def expire_leases(database: Database, wake_ups: WakeUps) -> list[str]:
    """Take away every lease that has run out, each in a transaction of its own; returns the jobs."""
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


async def wake_queued(database: Database, wake_ups: WakeUps) -> list[str]:
    """Send the wake-up of jobs that have been queued for a while again; returns the jobs, oldest first."""
    async with database.transaction() as session:
        stale = (
            select(Job.id)
            .where(Job.status == JobStatus.QUEUED, Job.woken_at < now() - WAKE_AGAIN)
            .order_by(Job.queued_at)
            .limit(100)
            .with_for_update(skip_locked=True)
        )
        ids = list(await session.scalars(stale))
        await session.execute(update(Job).where(Job.id.in_(ids)).values(woken_at=now()))
    for id in ids:
        if not await wake_ups.send(id):
            break
    return ids
