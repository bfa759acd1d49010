"""Pauses jobs whose project has exhausted a budget."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.lifecycle.transitions import pause
from backend.models import Job
from backend.usage import service as usage
from reinforge.states import PAUSABLE, JobStatus

REASON = "budget"


async def enforce(session: AsyncSession, job: Job) -> bool:
    """Pause a locked job if a budget is exhausted; returns whether it was paused."""
    if job.status not in PAUSABLE:
        return False
    spent = await usage.exhausted(session, job.project_id, usage.TRAINING)
    if spent is None:
        return False
    message, hint = usage.exhausted_message(spent)
    error: dict[str, Any] = {"code": REASON, "message": message, "hint": hint, "traceback": None}
    await pause(session, job, reason=REASON, error=error)
    return JobStatus(job.status) in (JobStatus.PAUSING, JobStatus.PAUSED)
