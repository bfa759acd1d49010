"""Heartbeats renew the lease and carry commands to the trainer."""

from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.lifecycle import budgets, changes, commands
from backend.jobs.lifecycle.transitions import lease_end
from backend.workers.fence import lock_attempt, require_lease
from backend.workers.records.metering import count_time
from reinforge.records import Command
from reinforge.schemas.worker_door import Heartbeat, HeartbeatReply


async def beat(
    session: AsyncSession, job_id: str, token: str | None, body: Heartbeat, lease_seconds: float
) -> HeartbeatReply:
    """Renew the lease; the reply repeats every command until the worker reports it as applied."""
    job, attempt = await lock_attempt(session, job_id, body.attempt, token)
    require_lease(job, attempt)
    job.lease_until = lease_end(lease_seconds)
    await count_time(session, job, attempt)
    await budgets.enforce(session, job)
    if body.applied_commands:
        await commands.mark_received(session, job, body.applied_commands)
    told = [Command(id=each.id, kind=each.kind) for each in await commands.pending(session, job_id)]
    asked = [each for each in await changes.of_job(session, job_id) if each.applied_step is None]
    told += [Command(id=each.id, kind="change", change=each.change) for each in asked]
    return HeartbeatReply(lease_seconds=lease_seconds, commands=told)
