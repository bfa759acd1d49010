"""Fencing: only the current attempt, with its token, may report for a job."""

import hmac

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import digest
from backend.models import Attempt, Job
from reinforge.errors import LeaseLost
from reinforge.states import LEASED

_LOCKED = (
    select(Job, Attempt)
    .join(Attempt, Attempt.job_id == Job.id)
    .where(Job.id == bindparam("job"), Attempt.number == bindparam("number"))
    .with_for_update()
    .execution_options(populate_existing=True)
)


async def lock_attempt(
    session: AsyncSession, job_id: str, number: int, token: str | None
) -> tuple[Job, Attempt]:
    row = (await session.execute(_LOCKED, {"job": job_id, "number": number})).one_or_none()
    if row is None:
        raise lost(f"There is no attempt {number} of a job {job_id}.")
    job, attempt = row
    if number != job.attempt:
        raise lost(f"Attempt {number} of {job_id} is over: attempt {job.attempt} has taken its place.")
    if token is None or not hmac.compare_digest(digest(token), attempt.token_sha256):
        raise lost(f"The job token does not belong to attempt {number} of {job_id}.")
    return job, attempt


def require_lease(job: Job, attempt: Attempt) -> None:
    if attempt.ended_at is not None or job.status not in LEASED or job.lease_until is None:
        raise lost(f"{job.id} is {job.status}: attempt {attempt.number} no longer holds it.")


def lost(message: str) -> LeaseLost:
    return LeaseLost(message, hint="Stop the trainer; the platform decides what becomes of the job.")
