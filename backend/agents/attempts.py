"""Attempts under way: whether their trainers may still ask and answer."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import digest
from backend.models import Attempt, Job
from reinforge.errors import LeaseLost
from reinforge.states import LEASED


async def is_alive(session: AsyncSession, job_id: str, attempt: int) -> bool:
    query = select(Job.id).where(
        Job.id == job_id, Job.attempt == attempt, Job.status.in_(LEASED), Job.lease_until.is_not(None)
    )
    return await session.scalar(query) is not None


async def require_attempt(session: AsyncSession, job_id: str, attempt: int, token: str | None) -> None:
    """Fence without a lock: a trainer asks often. Raises LeaseLost."""
    query = select(Attempt.ended_at).where(
        Attempt.job_id == job_id, Attempt.number == attempt, Attempt.token_sha256 == digest(token or "")
    )
    row = (await session.execute(query)).one_or_none()
    if row is None or row.ended_at is not None or not await is_alive(session, job_id, attempt):
        raise LeaseLost(
            f"Attempt {attempt} of {job_id} is over, or the job token is not its own.",
            hint="Stop the trainer; the platform decides what becomes of the job.",
        )
