"""Which checkpoints are kept and which one is the best: by held-out reward."""

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Checkpoint, Job

KEPT_BEST = 3


async def rank_checkpoints(session: AsyncSession, job: Job) -> None:
    """Mark the best checkpoint of a locked job and forget all but the three best and the last.

    Equal rewards: the later step wins, so that the final one is taken wherever none is better. None is the best while
    none is above the base.
    """
    await session.flush()
    query = select(Checkpoint).where(Checkpoint.job_id == job.id).order_by(Checkpoint.step)
    checkpoints = (await session.scalars(query.execution_options(populate_existing=True))).all()
    scored = [each for each in checkpoints if each.held_out_reward is not None]
    scored.sort(key=lambda each: (-(each.held_out_reward or 0.0), -each.step))
    base = job.held_out_reward_before
    best = scored[0] if scored and (base is None or (scored[0].held_out_reward or 0.0) > base) else None
    for each in checkpoints:
        each.best = each is best
    job.best_step = best.step if best else None
    kept = {each.id for each in scored[:KEPT_BEST]} | {each.id for each in checkpoints[-1:]}
    kept |= {each.id for each in checkpoints if each.final}
    await session.flush()
    await session.execute(delete(Checkpoint).where(Checkpoint.job_id == job.id, Checkpoint.id.not_in(kept)))
