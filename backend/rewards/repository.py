"""Queries about rewards."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, newest_first
from backend.models import Completion, Job, JobReward, Reward, RewardRevision, StepRollouts


async def find(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> Reward | None:
    query = select(Reward).where(Reward.id == id, Reward.project_id == project_id)
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    return (await session.scalars(query)).one_or_none()


async def find_named(session: AsyncSession, project_id: str, name: str, granularity: str) -> Reward | None:
    query = select(Reward).where(
        Reward.project_id == project_id, Reward.name == name, Reward.granularity == granularity
    )
    reward: Reward | None = await session.scalar(query.order_by(Reward.created_at.desc()).limit(1))
    return reward


async def find_content(
    session: AsyncSession, project_id: str, name: str, source: str
) -> RewardRevision | None:
    query = (
        select(RewardRevision)
        .join(Reward, Reward.id == RewardRevision.reward_id)
        .where(Reward.project_id == project_id, Reward.name == name, RewardRevision.source == source)
        .order_by(Reward.created_at.desc(), RewardRevision.revision.desc())
    )
    revision: RewardRevision | None = await session.scalar(query.limit(1))
    return revision


async def delete_unused(session: AsyncSession, project_id: str, id: str) -> None:
    used = select(JobReward.job_id).where(JobReward.reward_id == Reward.id).exists()
    await session.execute(delete(Reward).where(Reward.id == id, Reward.project_id == project_id, ~used))


async def find_revision(session: AsyncSession, reward_id: str, revision: int) -> RewardRevision | None:
    return await session.get(RewardRevision, (reward_id, revision))


async def revisions(session: AsyncSession, reward_id: str) -> list[RewardRevision]:
    query = select(RewardRevision).where(RewardRevision.reward_id == reward_id)
    return list(await session.scalars(query.order_by(RewardRevision.revision.desc())))


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Reward], bool]:
    query = select(Reward).where(Reward.project_id == project_id)
    query = newest_first(query, Reward.created_at, Reward.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def job_counts(session: AsyncSession, ids: Sequence[str]) -> dict[str, tuple[int, datetime]]:
    """Number of training jobs and creation time of the newest one, by reward."""
    query = (
        select(JobReward.reward_id, func.count(JobReward.job_id.distinct()), func.max(Job.created_at))
        .join(Job, Job.id == JobReward.job_id)
        .where(JobReward.reward_id.in_(ids), Job.purpose == "train")
    )
    rows = await session.execute(query.group_by(JobReward.reward_id))
    return {str(reward): (count, newest) for reward, count, newest in rows}


async def error_shares(session: AsyncSession, ids: Sequence[str]) -> dict[str, float]:
    """Share of completions that each reward failed to score, in jobs that use only this reward."""
    jobs = select(JobReward.job_id).where(JobReward.reward_id.in_(ids))
    alone = (
        select(JobReward.job_id, func.min(JobReward.reward_id).label("reward"))
        .join(Job, Job.id == JobReward.job_id)
        .where(Job.purpose == "train", JobReward.job_id.in_(jobs))
        .group_by(JobReward.job_id)
        .having(func.count() == 1)
        .subquery()
    )
    total = select(func.sum(StepRollouts.count)).where(StepRollouts.job_id == alone.c.job_id)
    failed = select(func.count()).where(Completion.job_id == alone.c.job_id, Completion.error.is_not(None))
    query = select(
        alone.c.reward, func.sum(failed.scalar_subquery()), func.sum(total.scalar_subquery())
    ).group_by(alone.c.reward)
    rows = await session.execute(query)
    return {str(reward): float(errors / completions) for reward, errors, completions in rows if completions}
