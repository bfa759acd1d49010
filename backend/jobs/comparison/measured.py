"""Reads the stored data of jobs to compare."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.comparison import repository
from backend.jobs.comparison.repository import HeldOutRewards
from backend.jobs.lifecycle.transitions import unknown_job
from backend.models import Job
from reinforge.errors import InvalidInput
from reinforge.schemas.comparison import Moment


@dataclass(frozen=True)
class Measured:
    job: Job
    step: int | None
    rows: HeldOutRewards
    usage: dict[str, float]
    rewards: list[str]
    held_out_dataset: str


async def jobs_of(session: AsyncSession, project_id: str, ids: Sequence[str]) -> list[Job]:
    if len(set(ids)) < len(ids):
        raise InvalidInput(
            "The same job is named twice: name each job once.", code="jobs_repeated", param="job"
        )
    jobs = await repository.find_all(session, project_id, ids)
    for id in ids:
        if id not in jobs:
            raise unknown_job(id)
    return [jobs[id] for id in ids]


async def evaluation_steps(session: AsyncSession, jobs: Sequence[Job], at: Moment) -> dict[str, int]:
    newest = await repository.newest_evaluations(session, [job.id for job in jobs])
    return {
        job.id: job.best_step if at == "best" and job.best_step is not None else newest[job.id]
        for job in jobs
        if job.id in newest
    }


async def measure(session: AsyncSession, project_id: str, jobs: Sequence[Job], at: Moment) -> list[Measured]:
    ids = [job.id for job in jobs]
    steps = await evaluation_steps(session, jobs, at)
    rows = await repository.held_out_rows(session, steps)
    usage = await repository.usage(session, project_id, ids)
    rewards = await repository.reward_hashes(session, ids)
    datasets = await repository.held_out_datasets(session, ids)
    return [
        Measured(
            job,
            steps.get(job.id),
            rows.get(job.id, HeldOutRewards()),
            usage.get(job.id, {}),
            rewards.get(job.id, []),
            datasets[job.id],
        )
        for job in jobs
    ]


def mean_tokens(rows: HeldOutRewards) -> float | None:
    return rows.tokens / rows.completions if rows.completions else None


def job_seconds(job: Job) -> float | None:
    return (job.finished_at - job.started_at).total_seconds() if job.finished_at and job.started_at else None


def cost(usage: dict[str, float], gpu_hour_price: float | None) -> float | None:
    if gpu_hour_price is None:
        return None
    return usage.get("device_seconds", 0.0) / 3600 * gpu_hour_price + usage.get("judge_spend", 0.0)
