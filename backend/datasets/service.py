"""Datasets and their stored files."""

from datetime import timedelta
from pathlib import Path

import anyio.to_thread
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.data.objects import Objects, object_key
from backend.datasets import repository
from backend.datasets.reading import read_in_background, read_rows_json
from backend.models import Dataset, now
from reinforge.dataset import DatasetReport, number_columns, suggest_columns
from reinforge.dataset.columns import ColumnRoles
from reinforge.errors import NotFound, StateConflict
from reinforge.records import Blob
from reinforge.schemas import resources
from reinforge.schemas.datasets import PromptView
from reinforge.system.folder_cache import FolderCache

CACHED_FILES = 16


async def get(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> Dataset:
    dataset = await repository.find(session, project_id, id, lock="share" if lock else None)
    if dataset is None:
        raise _unknown_dataset(id)
    return dataset


def blob(dataset: Dataset) -> Blob:
    return Blob(sha256=dataset.sha256, bytes=dataset.bytes)


def numbers(dataset: Dataset) -> list[str]:
    return number_columns(dataset.format, dataset.columns)


def cache_folder(home: Path) -> Path:
    return home / "cache" / "datasets"


async def local_file(objects: Objects, dataset: Dataset, cache: Path) -> Path:
    return await anyio.to_thread.run_sync(_local_file, objects, dataset.sha256, dataset.format, cache)


async def add(
    session: AsyncSession,
    project_id: str,
    report: DatasetReport,
    name: str | None,
    created_by: str,
    *,
    lifetime_seconds: int | None = None,
) -> Dataset:
    moment = now()
    dataset = Dataset(
        id=new_id("file-"),
        project_id=project_id,
        name=name or Path(report.filename).stem or report.filename,
        filename=report.filename,
        format=report.format,
        bytes=report.bytes,
        rows=report.rows,
        sha256=report.sha256,
        columns=[
            {
                "name": column.name,
                "type": column.type,
                "nulls": column.null_count + column.missing_count,
                "example": column.example,
            }
            for column in report.columns
        ],
        warnings=[warning.message for warning in report.warnings],
        preview=report.preview,
        skipped=report.skipped.model_dump() if report.skipped else None,
        created_by=created_by,
        created_at=moment,
        expires_at=None if lifetime_seconds is None else moment + timedelta(seconds=lifetime_seconds),
    )
    session.add(dataset)
    await session.flush()
    return dataset


async def find_content(session: AsyncSession, project_id: str, sha256: str, name: str) -> Dataset | None:
    return await repository.find_content(session, project_id, sha256, name)


async def update(
    session: AsyncSession, dataset: Dataset, name: str | None, prompt_view: PromptView | None
) -> None:
    if name is not None:
        dataset.name = name
    if prompt_view is not None:
        dataset.prompt_view = prompt_view.model_dump(exclude_defaults=True)
    await session.flush()


def nothing_held_out(rows: int, held_out: int, requested: int | None) -> str | None:
    if held_out:
        return None
    if requested == 0:
        return "No row is held out: there will be no held-out reward."
    return f"The dataset has {rows} row, so none is held out: there will be no held-out reward."


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Dataset], bool]:
    return await repository.page(session, project_id, limit=limit, after=after)


async def page_behind(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None, oldest_first: bool
) -> tuple[list[Dataset], bool] | None:
    """The page after the dataset `after`, which may be deleted; None if `after` never existed."""
    place = None if after is None else await repository.find_place(session, project_id, after)
    if after is not None and place is None:
        return None
    return await repository.page_behind(
        session, project_id, limit=limit, after=place, oldest_first=oldest_first
    )


async def view(session: AsyncSession, datasets: list[Dataset]) -> list[resources.Dataset]:
    jobs = await repository.count_jobs(session, [dataset.id for dataset in datasets])
    newest = await repository.newest_of_name(session, datasets)
    return [
        resources.Dataset.model_validate(dataset).model_copy(
            update={
                "jobs": jobs.get(dataset.id, 0),
                "newest": newest.get(dataset.id),
                "suggested_columns": _suggestion(dataset),
            }
        )
        for dataset in datasets
    ]


async def rows(objects: Objects, dataset: Dataset, cache: Path, *, offset: int, limit: int) -> list[bytes]:
    path = await local_file(objects, dataset, cache)
    arguments = (str(path), dataset.format, offset, limit, numbers(dataset))
    return await read_in_background(dataset, read_rows_json, *arguments)


async def delete(session: AsyncSession, project_id: str, id: str) -> None:
    dataset = await repository.find(session, project_id, id, lock="update")
    if dataset is None:
        raise _unknown_dataset(id)
    job = await repository.unfinished_job(session, id)
    if job is not None:
        raise StateConflict(
            f"The job {job} still needs this dataset.",
            code="dataset_in_use",
            hint=f"Cancel {job} or wait until it has ended.",
        )
    dataset.deleted_at = now()


async def expire(session: AsyncSession, limit: int = 100) -> int:
    over = await repository.expired(session, limit)
    for dataset in over:
        dataset.deleted_at = now()
    await repository.forget_deleted(session, now() - timedelta(hours=1))
    return len(over)


def _local_file(objects: Objects, sha256: str, format: str, cache: Path) -> Path:
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    files, name = FolderCache(cache, max_entries=CACHED_FILES), f"{sha256}.{format}"
    if (path := files.use(name)) is None:
        path = cache / name
        objects.store.get_file(object_key(sha256), path)
        files.evict(keep={name})
    return path


def _suggestion(dataset: Dataset) -> ColumnRoles | None:
    view = PromptView.model_validate(dataset.prompt_view)
    if view.prompt_template is not None:
        return None
    return suggest_columns(dataset.columns, dataset.preview, view.columns)


def _unknown_dataset(id: str) -> NotFound:
    return NotFound(
        f"There is no dataset {id}.",
        code="dataset_not_found",
        hint="`reinforge dataset list` shows all.",
    )
