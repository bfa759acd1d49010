"""Heartbeats renew the lease and carry commands to the trainer."""

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs import changes
from backend.jobs.lifecycle import lease_end
from backend.models import JobCommand, now
from backend.workers.fence import lock_attempt, require_lease
from reinforge.records import Command
from reinforge.schemas.worker_door import Heartbeat, HeartbeatReply


async def beat(session: AsyncSession, job_id: str, token: str | None, body: Heartbeat) -> HeartbeatReply:
    """Renew the lease; the reply repeats every command until the worker says that it was applied."""
    job, attempt = await lock_attempt(session, job_id, body.attempt, token)
    require_lease(job, attempt)
    job.lease_until = lease_end()
    if body.applied_commands:
        await session.execute(
            update(JobCommand)
            .where(
                JobCommand.job_id == job_id,
                JobCommand.id.in_(body.applied_commands),
                JobCommand.applied_at.is_(None),
            )
            .values(applied_at=now(), applied_attempt=attempt.number, applied_step=job.step)
        )
    pending = await session.scalars(
        select(JobCommand)
        .where(JobCommand.job_id == job_id, JobCommand.applied_at.is_(None))
        .order_by(JobCommand.created_at)
    )
    commands = [Command(id=each.id, kind=each.kind) for each in pending]
    asked = [each for each in await changes.of_job(session, job_id) if each.applied_step is None]
    commands += [Command(id=each.id, kind="change", change=each.change) for each in asked]
    return HeartbeatReply(commands=commands)
