"""Parts of a bundle, read from the database: manifest entries with their files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs import repository
from backend.jobs.lifecycle.fork import BEFORE_ATTEMPTS
from backend.models import (
    Checkpoint,
    Dataset,
    Job,
    JobReward,
    ResumeState,
    RewardRevision,
    StepRollouts,
    StoredObject,
)
from reinforge.bundles.manifest import (
    BundledCheckpoint,
    BundledData,
    BundledFile,
    BundledFork,
    BundledReward,
    BundledRollouts,
)
from reinforge.dataset import number_columns
from reinforge.grading.multi import judges as judges_named
from reinforge.grading.source import parse_grader
from reinforge.records import ForkStart

E = TypeVar("E")


@dataclass(frozen=True)
class BundleOptions:
    rows: bool = True
    completions: bool = True


@dataclass(frozen=True)
class BundlePart(Generic[E]):
    entry: E
    files: list[BundledFile] = field(default_factory=list)


async def data_of(
    session: AsyncSession, job: Job, options: BundleOptions
) -> tuple[BundlePart[BundledData], BundlePart[BundledData] | None]:
    """The training dataset, and the held-out dataset if the job has one."""
    parts = []
    for name, id in (("dataset", job.dataset_id), ("held_out", job.held_out_dataset_id)):
        if id is None:
            continue
        row = await session.get_one(Dataset, id)
        path = f"data/{name}.{row.format}" if options.rows and row.deleted_at is None else None
        entry = BundledData(
            dataset=row.id,
            name=row.name,
            format=row.format,
            numbers=number_columns(row.format, row.columns),
            rows=row.rows,
            bytes=row.bytes,
            sha256=row.sha256,
            path=path,
        )
        file = [BundledFile(path=path, bytes=row.bytes, sha256=row.sha256)] if path else []
        parts.append(BundlePart(entry, file))
    return parts[0], parts[1] if len(parts) > 1 else None


async def rewards_of(session: AsyncSession, job: Job) -> tuple[list[BundledReward], dict[str, bytes]]:
    pinned = (RewardRevision.reward_id == JobReward.reward_id) & (
        RewardRevision.revision == JobReward.revision
    )
    query = select(JobReward, RewardRevision.source).outerjoin(RewardRevision, pinned)
    rows = await session.execute(query.where(JobReward.job_id == job.id).order_by(JobReward.position))
    entries, sources = [], {}
    for reward, stored in rows:
        kind = "grader" if reward.kind == "grader" else "python"
        path = f"rewards/{reward.position}.{'json' if kind == 'grader' else 'py'}"
        revision = f"{reward.reward_id}@{reward.revision}" if reward.reward_id else f"sha256:{reward.sha256}"
        entries.append(BundledReward(name=reward.name, kind=kind, revision=revision, path=path))
        sources[path] = (reward.source if reward.source is not None else stored).encode()
    return entries, sources


def judges_of(job: Job, sources: Mapping[str, bytes]) -> list[str]:
    names = {
        str(declared["model"])
        for reward in job.resolved_spec["rewards"]
        for declared in (reward.get("judges") or {}).values()
    }
    for path, source in sources.items():
        if path.endswith(".json"):
            names |= judges_named(parse_grader(source.decode()))
    return sorted(names)


def start_of(job: Job) -> list[BundledFile]:
    if job.start_sha256 is None or job.start is None:
        return []
    return [BundledFile(path="start.tar", bytes=job.start["bytes"], sha256=job.start_sha256)]


async def fork_of(session: AsyncSession, job: Job) -> BundlePart[BundledFork] | None:
    """The state that a forked job started from, with its file if still stored; None for other jobs."""
    if job.forked_from_id is None or job.forked_step is None:
        return None
    start = ForkStart.model_validate({"step": job.forked_step, "carried": job.carried or []})
    table = ResumeState if "optimizer" in start.carried else Checkpoint
    own = select(ResumeState).where(ResumeState.job_id == job.id, ResumeState.attempt == BEFORE_ATTEMPTS)
    source = select(table).where(table.job_id == job.forked_from_id, table.step == start.step)
    stored = await session.scalar(own) or await session.scalar(source)
    if stored is None:
        return BundlePart(BundledFork(job=job.forked_from_id, start=start, path=None))
    file = BundledFile(path="fork.tar", bytes=stored.bytes, sha256=stored.sha256)
    return BundlePart(BundledFork(job=job.forked_from_id, start=start, path=file.path), [file])


async def rollouts_of(session: AsyncSession, job_id: str) -> list[BundlePart[BundledRollouts]]:
    query = (
        select(StepRollouts.split, StepRollouts.step, StepRollouts.sha256, StoredObject.bytes)
        .join(StoredObject, StoredObject.sha256 == StepRollouts.sha256)
        .where(StepRollouts.job_id == job_id)
        .order_by(StepRollouts.step, StepRollouts.split.desc())
    )
    parts = []
    for split, step, sha256, size in await session.execute(query):
        path = f"completions/{split}-{step:06}.parquet"
        entry = BundledRollouts(split=split, step=step, path=path)
        parts.append(BundlePart(entry, [BundledFile(path=path, bytes=size, sha256=sha256)]))
    return parts


async def checkpoints_of(session: AsyncSession, job: Job) -> list[BundlePart[BundledCheckpoint]]:
    """Ordered by step, with the files of the best and the final one."""
    parts = []
    for row in sorted(await repository.checkpoints(session, job.id), key=lambda row: row.step):
        path = f"checkpoints/{row.step:06}.tar" if row.best or row.final else None
        entry = BundledCheckpoint(
            step=row.step,
            sha256=row.sha256,
            bytes=row.bytes,
            held_out_reward=row.held_out_reward,
            best=row.best,
            final=row.final,
            path=path,
        )
        file = [BundledFile(path=path, bytes=row.bytes, sha256=row.sha256)] if path else []
        parts.append(BundlePart(entry, file))
    return parts
