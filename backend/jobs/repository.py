"""Queries about jobs and their records."""

from collections.abc import Sequence

from sqlalchemy import func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.lifecycle.transitions import unknown_job
from backend.models import Checkpoint, CheckpointPermission, Job, LogLineRow
from reinforge.errors import NotFound
from reinforge.states import FINAL, JobStatus


async def find(session: AsyncSession, project_id: str, job_id: str) -> Job:
    job = await session.scalar(select(Job).where(Job.id == job_id, Job.project_id == project_id))
    if job is None:
        raise unknown_job(job_id)
    return job


async def find_alive(session: AsyncSession, project_id: str, key: str, value: str) -> Job | None:
    lost = [str(status) for status in FINAL - {JobStatus.SUCCEEDED}]
    query = (
        select(Job)
        .where(Job.project_id == project_id, Job.resolved_spec["metadata"][key].as_string() == value)
        .where(Job.status.not_in(lost), Job.purpose == "train")
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(1)
    )
    job: Job | None = await session.scalar(query)
    return job


async def unfinished_by_metadata(
    session: AsyncSession, project_id: str, keys: Sequence[str]
) -> dict[str, Job]:
    unfinished = [str(status) for status in JobStatus if status not in FINAL]
    values = [Job.resolved_spec["metadata"][key].as_string() for key in keys]
    query = (
        select(Job, func.coalesce(*values))
        .where(Job.project_id == project_id, Job.status.in_(unfinished), Job.purpose == "train")
        .where(func.coalesce(*values).is_not(None))
        .order_by(Job.created_at, Job.id)
    )
    return {value: job for job, value in await session.execute(query)}


async def any_job(session: AsyncSession, project_id: str) -> bool:
    query = select(Job.id).where(Job.project_id == project_id, Job.purpose == "train").limit(1)
    return await session.scalar(query) is not None


async def log_lines(session: AsyncSession, job_id: str, *, after: int, limit: int) -> Sequence[LogLineRow]:
    query = select(LogLineRow).where(LogLineRow.job_id == job_id, LogLineRow.seq > after)
    return (await session.scalars(query.order_by(LogLineRow.seq).limit(limit))).all()


async def checkpoints(session: AsyncSession, job_id: str) -> Sequence[Checkpoint]:
    query = select(Checkpoint).where(Checkpoint.job_id == job_id).order_by(Checkpoint.step.desc())
    return (await session.scalars(query)).all()


async def find_by_code(session: AsyncSession, model_id: str, code: str) -> Job | None:
    query = select(Job).where(Job.id.startswith(f"ftjob-{code}"), Job.model_id == model_id)
    query = query.where(Job.purpose == "train").order_by(Job.created_at.desc())
    job: Job | None = await session.scalar(query.limit(1))
    return job


async def shared(session: AsyncSession, checkpoint_id: str, project_id: str) -> bool:
    query = select(CheckpointPermission.id).filter_by(checkpoint_id=checkpoint_id, project_id=project_id)
    return await session.scalar(query) is not None


async def usable_checkpoint(session: AsyncSession, project_id: str, id: str) -> tuple[Checkpoint, Job] | None:
    permission = select(CheckpointPermission.id).filter_by(checkpoint_id=id, project_id=project_id)
    query = select(Checkpoint, Job).join(Job, Job.id == Checkpoint.job_id).where(Checkpoint.id == id)
    query = query.where(or_(Job.project_id == project_id, permission.exists()))
    row = (await session.execute(query)).one_or_none()
    return None if row is None else (row[0], row[1])


async def find_checkpoint(session: AsyncSession, job_id: str, step: int) -> Checkpoint | None:
    query = select(Checkpoint).where(Checkpoint.job_id == job_id, Checkpoint.step == step)
    row: Checkpoint | None = await session.scalar(query)
    return row


async def checkpoint(session: AsyncSession, job_id: str, step: int) -> Checkpoint:
    row = await find_checkpoint(session, job_id, step)
    if row is None:
        raise NotFound(
            f"No checkpoint of step {step} is stored.",
            code="checkpoint_not_found",
            hint="Only the three with the highest held-out reward, the newest and the final one are stored.",
        )
    return row
