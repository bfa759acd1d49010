"""What time does to jobs: leases run out, stopping takes too long, and wake-ups may have been lost."""

from datetime import timedelta

from sqlalchemy import func, select, update

from backend.data.database import Database
from backend.jobs.lifecycle import fair_queue
from backend.jobs.lifecycle.transitions import end_overdue, lock_job, lose_attempt
from backend.models import Job, JobCommand, now
from backend.rpc.wake_ups import WakeUps
from reinforge.states import LEASED, JobStatus

WAKE_AGAIN = timedelta(seconds=10)
"""A queued job that nobody has claimed is announced again after this long, so that with the sweep's pause and a trainer
that starts slowly a lost announcement costs less than 30 s."""

STOP_SECONDS = 120.0
"""A trainer that is asked to stop has at least this long, and `STOP_STEPS` times its longest recent step: a step under
way is finished, and a checkpoint and a resume state have to be stored."""
STOP_STEPS = 5
STOPPED_BY = {JobStatus.PAUSING: "pause", JobStatus.CANCELLING: "cancel"}
"""The command that a job in this state was given."""


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


async def stop_overdue(database: Database) -> list[str]:
    """End every job that has been `pausing` or `cancelling` for too long, its worker alive or not; returns the jobs."""
    async with database.transaction() as session:
        stopping = list(await session.scalars(select(Job.id).where(Job.status.in_(STOPPED_BY))))
    ended: list[str] = []
    for id in stopping:
        async with database.transaction() as session:
            job = await lock_job(session, id)
            kind = STOPPED_BY.get(JobStatus(job.status))
            asked = await session.scalar(
                select(func.max(JobCommand.created_at)).where(
                    JobCommand.job_id == id, JobCommand.kind == kind
                )
            )
            limit = timedelta(
                seconds=max([STOP_SECONDS, *(STOP_STEPS * each for each in job.recent_step_seconds)])
            )
            if asked is not None and asked < now() - limit:
                await end_overdue(session, job, limit)
                ended.append(id)
    return ended


async def wake_queued(database: Database, wake_ups: WakeUps) -> list[str]:
    """Send the wake-up of jobs that have been queued for a while again; returns the jobs, oldest first.

    One for each worker that has nothing to do: the others look by themselves when they are done, and messages that
    nobody needs would pile up for as long as a queue is long.
    """
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
