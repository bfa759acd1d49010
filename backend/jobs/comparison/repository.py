"""Queries for a comparison of jobs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from sqlalchemy import func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Completion, Dataset, Job, JobReward, MetricSeries, StepRollouts, UsageRow


@dataclass
class HeldOutRewards:
    rewards: dict[str, float] = field(default_factory=dict)
    tokens: int = 0
    completions: int = 0

    @property
    def mean(self) -> float | None:
        return fmean(self.rewards.values()) if self.rewards else None


async def find_all(session: AsyncSession, project_id: str, ids: Sequence[str]) -> dict[str, Job]:
    query = select(Job).where(Job.project_id == project_id, Job.id.in_(ids))
    return {job.id: job for job in await session.scalars(query)}


async def newest_evaluations(session: AsyncSession, ids: Sequence[str]) -> dict[str, int]:
    query = (
        select(StepRollouts.job_id, func.max(StepRollouts.step))
        .where(StepRollouts.job_id.in_(ids), StepRollouts.split == "held_out")
        .group_by(StepRollouts.job_id)
    )
    return {row[0]: row[1] for row in await session.execute(query)}


async def held_out_rows(session: AsyncSession, steps: Mapping[str, int]) -> dict[str, HeldOutRewards]:
    rows: dict[str, HeldOutRewards] = defaultdict(HeldOutRewards)
    query = (
        select(
            Completion.job_id,
            Completion.prompt_hash,
            func.avg(Completion.reward),
            func.sum(Completion.length),
            func.count(),
        )
        .where(Completion.split == "held_out", tuple_(Completion.job_id, Completion.step).in_(steps.items()))
        .group_by(Completion.job_id, Completion.prompt_hash)
    )
    for id, prompt, reward, tokens, count in await session.execute(query):
        if reward is not None:
            rows[id].rewards[prompt] = reward
        rows[id].tokens += tokens
        rows[id].completions += count
    return rows


async def usage(session: AsyncSession, project_id: str, ids: Sequence[str]) -> dict[str, dict[str, float]]:
    amounts: dict[str, dict[str, float]] = defaultdict(dict)
    query = (
        select(UsageRow.source, UsageRow.kind, func.sum(UsageRow.amount))
        .where(UsageRow.project_id == project_id, UsageRow.source.in_(ids))
        .group_by(UsageRow.source, UsageRow.kind)
    )
    for id, kind, amount in await session.execute(query):
        amounts[id][kind] = amount
    return amounts


async def held_out_datasets(session: AsyncSession, ids: Sequence[str]) -> dict[str, str]:
    source = func.coalesce(Job.held_out_dataset_id, Job.dataset_id)
    query = select(Job.id, Dataset.sha256).join(Dataset, Dataset.id == source).where(Job.id.in_(ids))
    return {row[0]: row[1] for row in await session.execute(query)}


async def reward_hashes(session: AsyncSession, ids: Sequence[str]) -> dict[str, list[str]]:
    hashes: dict[str, list[str]] = defaultdict(list)
    query = select(JobReward.job_id, JobReward.sha256).where(JobReward.job_id.in_(ids))
    for id, sha256 in await session.execute(query.order_by(JobReward.job_id, JobReward.position)):
        hashes[id].append(sha256)
    return hashes


async def metric_keys(session: AsyncSession, ids: Sequence[str]) -> list[str]:
    query = select(MetricSeries.key).where(MetricSeries.job_id.in_(ids)).distinct()
    return sorted(await session.scalars(query))
