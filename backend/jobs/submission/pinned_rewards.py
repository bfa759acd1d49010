"""The rewards of a job that is there already, by their names."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import JobReward
from reinforge.errors import InvalidInput


async def pinned_reward(session: AsyncSession, job_id: str, name: str | None) -> JobReward:
    """The named reward, or the only one. Raises InvalidInput (param `reward`)."""
    query = select(JobReward).where(JobReward.job_id == job_id).order_by(JobReward.position)
    known = {each.name: each for each in await session.scalars(query)}
    if name is None and len(known) > 1:
        raise InvalidInput(
            f"The job has several rewards: {', '.join(known)}.",
            code="ambiguous_reward",
            param="reward",
            hint="Name one of them as `reward`.",
        )
    wanted = name or next(iter(known))
    if wanted not in known:
        raise InvalidInput(
            f"The job has no reward {wanted!r}.",
            code="unknown_reward",
            param="reward",
            hint=f"It has: {', '.join(known)}.",
        )
    return known[wanted]
