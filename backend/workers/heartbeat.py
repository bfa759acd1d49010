"""Heartbeats: lease renewal, and commands to the trainer."""

from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.lifecycle import budgets, changes, commands
from backend.jobs.lifecycle.transitions import lease_end
from backend.workers.fence import lock_attempt, require_lease
from backend.workers.records.metering import count_time
from reinforge.records import Command
from reinforge.schemas.worker_api import Heartbeat, HeartbeatReply


async def renew_lease(
    session: AsyncSession, job_id: str, token: str | None, body: Heartbeat, lease_seconds: float
) -> HeartbeatReply:
    job, attempt = await lock_attempt(session, job_id, body.attempt, token)
    require_lease(job, attempt)
    job.lease_until = lease_end(lease_seconds)
    await count_time(session, job, attempt)
    await budgets.enforce(session, job)
    if body.applied_commands:
        await commands.mark_received(session, job, body.applied_commands)
    command_list = [
        Command(id=command.id, kind=command.kind) for command in await commands.pending(session, job_id)
    ]
    open_changes = [change for change in await changes.of_job(session, job_id) if change.applied_step is None]
    command_list += [Command(id=change.id, kind="change", change=change.change) for change in open_changes]
    return HeartbeatReply(lease_seconds=lease_seconds, commands=command_list)
