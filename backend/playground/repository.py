"""Query for a checkpoint with its job."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Checkpoint, Job


async def find_checkpoint(session: AsyncSession, project_id: str, id: str) -> tuple[Checkpoint, Job] | None:
    query = select(Checkpoint, Job).join(Job, Job.id == Checkpoint.job_id)
    rows = await session.execute(query.where(Checkpoint.id == id, Job.project_id == project_id))
    row = rows.one_or_none()
    return None if row is None else (row[0], row[1])
