"""Queries about jobs and what was recorded of them. Nothing here changes state."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.cursors import newest_first
from backend.jobs.lifecycle import job_not_found
from backend.models import Checkpoint, Event, FindingRow, Job, LogLineRow
from reinforge.states import JobStatus


async def find(session: AsyncSession, project_id: str, job_id: str) -> Job:
    """Raises NotFound."""
    job = await session.scalar(select(Job).where(Job.id == job_id, Job.project_id == project_id))
    if job is None:
        raise job_not_found(job_id)
    return job


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None, statuses: Sequence[JobStatus]
) -> Sequence[Job]:
    """Up to `limit + 1` jobs, newest first."""
    query = select(Job).where(Job.project_id == project_id)
    if statuses:
        query = query.where(Job.status.in_(statuses))
    return (
        await session.scalars(newest_first(query, Job.created_at, Job.id, limit=limit, after=after))
    ).all()


async def events(session: AsyncSession, job_id: str, *, after: int, limit: int) -> Sequence[Event]:
    """In order of `seq`."""
    query = select(Event).where(Event.job_id == job_id, Event.seq > after).order_by(Event.seq).limit(limit)
    return (await session.scalars(query)).all()


async def log_lines(session: AsyncSession, job_id: str, *, after: int, limit: int) -> Sequence[LogLineRow]:
    query = select(LogLineRow).where(LogLineRow.job_id == job_id, LogLineRow.seq > after)
    return (await session.scalars(query.order_by(LogLineRow.seq).limit(limit))).all()


async def findings(session: AsyncSession, job_id: str) -> Sequence[FindingRow]:
    query = select(FindingRow).where(FindingRow.job_id == job_id).order_by(FindingRow.seq)
    return (await session.scalars(query)).all()


async def checkpoints(session: AsyncSession, job_id: str) -> Sequence[Checkpoint]:
    """Highest step first."""
    query = select(Checkpoint).where(Checkpoint.job_id == job_id).order_by(Checkpoint.step.desc())
    return (await session.scalars(query)).all()
