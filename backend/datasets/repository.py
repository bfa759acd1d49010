"""Queries about datasets."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, or_, select, tuple_, union_all
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import by_creation, cut, newest_first
from backend.models import Dataset, Job, now
from reinforge.states import FINAL


async def find(session: AsyncSession, project_id: str, id: str, *, lock: str | None = None) -> Dataset | None:
    """Find a dataset. Until commit, the lock `share` prevents its deletion, and `update` also its use in new
    jobs.
    """
    query = select(Dataset).where(
        Dataset.id == id, Dataset.project_id == project_id, Dataset.deleted_at.is_(None)
    )
    if lock is not None:
        query = query.with_for_update(read=lock == "share")
    return (await session.scalars(query.execution_options(populate_existing=lock is not None))).one_or_none()


async def find_content(session: AsyncSession, project_id: str, sha256: str, name: str) -> Dataset | None:
    query = select(Dataset).where(
        Dataset.project_id == project_id,
        Dataset.sha256 == sha256,
        Dataset.name == name,
        Dataset.deleted_at.is_(None),
    )
    dataset: Dataset | None = await session.scalar(query.order_by(Dataset.created_at.desc()).limit(1))
    return dataset


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Dataset], bool]:
    query = select(Dataset).where(Dataset.project_id == project_id, Dataset.deleted_at.is_(None))
    query = newest_first(query, Dataset.created_at, Dataset.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def page_behind(
    session: AsyncSession, project_id: str, *, limit: int, after: Dataset | None, oldest_first: bool
) -> tuple[list[Dataset], bool]:
    query = select(Dataset).where(Dataset.project_id == project_id, Dataset.deleted_at.is_(None))
    query = by_creation(
        query,
        Dataset.created_at,
        Dataset.id,
        limit=limit,
        after=(after.created_at, after.id) if after else None,
        oldest_first=oldest_first,
    )
    return cut((await session.scalars(query)).all(), limit)


async def find_place(session: AsyncSession, project_id: str, id: str) -> Dataset | None:
    """Find a dataset even if it is deleted, so that a list can continue after it."""
    dataset: Dataset | None = await session.scalar(
        select(Dataset).where(Dataset.id == id, Dataset.project_id == project_id)
    )
    return dataset


async def newest_of_name(session: AsyncSession, datasets: Sequence[Dataset]) -> dict[str, str]:
    """Map the ids of datasets to that of the newest with the same name and project, if it is another."""
    names = {(dataset.project_id, dataset.name) for dataset in datasets}
    query = (
        select(Dataset.project_id, Dataset.name, Dataset.id)
        .where(tuple_(Dataset.project_id, Dataset.name).in_(names), Dataset.deleted_at.is_(None))
        .ext(distinct_on(Dataset.project_id, Dataset.name))
        .order_by(Dataset.project_id, Dataset.name, Dataset.created_at.desc(), Dataset.id.desc())
    )
    newest = {(project, name): id for project, name, id in await session.execute(query)}
    newest_by_id = {dataset.id: newest.get((dataset.project_id, dataset.name)) for dataset in datasets}
    return {
        id: newest_id for id, newest_id in newest_by_id.items() if newest_id is not None and newest_id != id
    }


async def expired(session: AsyncSession, limit: int) -> Sequence[Dataset]:
    unfinished = select(Job.id).where(
        or_(Job.dataset_id == Dataset.id, Job.held_out_dataset_id == Dataset.id),
        Job.status.not_in([str(status) for status in FINAL]),
    )
    query = select(Dataset).where(
        Dataset.expires_at < now(), Dataset.deleted_at.is_(None), ~unfinished.exists()
    )
    return (await session.scalars(query.with_for_update(skip_locked=True).limit(limit))).all()


async def forget_deleted(session: AsyncSession, before: datetime) -> None:
    jobs = select(Job.id).where(or_(Job.dataset_id == Dataset.id, Job.held_out_dataset_id == Dataset.id))
    await session.execute(delete(Dataset).where(Dataset.deleted_at < before, ~jobs.exists()))


async def count_jobs(session: AsyncSession, ids: Sequence[str]) -> dict[str, int]:
    used = union_all(
        select(Job.dataset_id.label("dataset"), Job.id.label("job")).where(
            Job.dataset_id.in_(ids), Job.purpose == "train"
        ),
        select(Job.held_out_dataset_id, Job.id).where(
            Job.held_out_dataset_id.in_(ids),
            Job.held_out_dataset_id != Job.dataset_id,
            Job.purpose == "train",
        ),
    ).subquery()
    rows = await session.execute(select(used.c.dataset, func.count()).group_by(used.c.dataset))
    return {row[0]: row[1] for row in rows}


async def unfinished_job(session: AsyncSession, id: str) -> str | None:
    query = select(Job.id).where(
        or_(Job.dataset_id == id, Job.held_out_dataset_id == id), Job.status.not_in([str(s) for s in FINAL])
    )
    job_id: str | None = await session.scalar(query.limit(1))
    return job_id
