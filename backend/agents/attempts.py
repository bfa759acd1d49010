"""Checks that an attempt at a job is under way, so that its trainer may take and answer model calls."""

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import digest
from backend.models import Attempt, Job
from reinforge.errors import LeaseLost
from reinforge.states import LEASED

ALIVE = and_(Job.status.in_(LEASED), Job.lease_until.is_not(None))
"""Condition that a job's current attempt holds its lease."""


async def is_alive(session: AsyncSession, job_id: str, attempt: int) -> bool:
    query = select(Job.id).where(Job.id == job_id, Job.attempt == attempt, ALIVE)
    return await session.scalar(query) is not None


async def require_attempt(session: AsyncSession, job_id: str, attempt: int, token: str | None) -> None:
    """Check that `token` belongs to the job's current attempt. Locks nothing, as trainers call it often.
    Raises LeaseLost.
    """
    query = (
        select(Attempt.number)
        .join(Job, and_(Job.id == Attempt.job_id, Job.attempt == Attempt.number, ALIVE))
        .where(
            Attempt.job_id == job_id,
            Attempt.number == attempt,
            Attempt.token_sha256 == digest(token or ""),
            Attempt.ended_at.is_(None),
        )
    )
    if await session.scalar(query) is None:
        raise LeaseLost(
            f"Attempt {attempt} of {job_id} is over, or the job token does not belong to it.",
            hint="Stop the trainer; the platform decides what becomes of the job.",
        )
