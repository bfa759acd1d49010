"""Marks a job's best checkpoint, and deletes superseded ones."""

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Checkpoint, Job

BEST_CHECKPOINTS = 3


async def rank_checkpoints(session: AsyncSession, job: Job) -> None:
    """Mark a locked job's best checkpoint, of equal ones the later, if it is better than the base. Delete
    all checkpoints but the three best, the newest and the final one.
    """
    await session.flush()
    query = select(Checkpoint).where(Checkpoint.job_id == job.id).order_by(Checkpoint.step)
    checkpoints = (await session.scalars(query.execution_options(populate_existing=True))).all()
    scored = [checkpoint for checkpoint in checkpoints if checkpoint.held_out_reward is not None]
    scored.sort(key=lambda checkpoint: (-(checkpoint.held_out_reward or 0.0), -checkpoint.step))
    base = job.held_out_reward_before
    best = scored[0] if scored and (base is None or (scored[0].held_out_reward or 0.0) > base) else None
    for checkpoint in checkpoints:
        checkpoint.best = checkpoint is best
    job.best_step = best.step if best else None
    retained_ids = {checkpoint.id for checkpoint in scored[:BEST_CHECKPOINTS]} | {
        checkpoint.id for checkpoint in checkpoints[-1:]
    }
    retained_ids |= {checkpoint.id for checkpoint in checkpoints if checkpoint.final}
    await session.flush()
    await session.execute(
        delete(Checkpoint).where(Checkpoint.job_id == job.id, Checkpoint.id.not_in(retained_ids))
    )
