"""Finds a stored job's reward by name."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import JobReward
from reinforge.errors import InvalidInput


async def pinned_reward(session: AsyncSession, job_id: str, name: str | None) -> JobReward:
    query = select(JobReward).where(JobReward.job_id == job_id).order_by(JobReward.position)
    rewards_by_name = {reward_row.name: reward_row for reward_row in await session.scalars(query)}
    if name is None and len(rewards_by_name) > 1:
        raise InvalidInput(
            f"It is unclear which reward is meant: the job has {', '.join(rewards_by_name)}.",
            code="ambiguous_reward",
            param="reward",
            hint="Name one of them as `reward`.",
        )
    selected_name = name or next(iter(rewards_by_name))
    if selected_name not in rewards_by_name:
        raise InvalidInput(
            f"The job has no reward {selected_name!r}.",
            code="unknown_reward",
            param="reward",
            hint=f"It has: {', '.join(rewards_by_name)}.",
        )
    return rewards_by_name[selected_name]
