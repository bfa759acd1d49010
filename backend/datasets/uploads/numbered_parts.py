"""Uploads in numbered parts of equal size, in the store's bucket if the store has an HTTP API."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import anyio.to_thread
from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.data.objects import Objects
from backend.datasets import service
from backend.datasets.uploads import resumable
from backend.models import Dataset, Upload, UploadPart, now
from reinforge.errors import InvalidInput
from reinforge.schemas.uploads import DatasetUpload, DatasetUploadCreate, DatasetUploadPart
from reinforge.storage import ObjectNotFound
from reinforge.storage.parts import PartStore

LIFETIME = timedelta(days=1)
PART_BYTES = 16 * 1024**2
MOST_PARTS = 10_000
URL_SECONDS = 3600
_HINT = "Create another upload; parts of an unfinished upload are kept for a day."


async def create(session: AsyncSession, project_id: str, body: DatasetUploadCreate, by: str) -> Upload:
    unfinished = await _same(session, project_id, body)
    moment = now()
    if unfinished is not None:
        unfinished.expires_at = moment + LIFETIME
        return unfinished
    upload = Upload(
        id=new_id("upload_"),
        project_id=project_id,
        filename=Path(body.filename).name or "dataset",
        name=body.name,
        bytes=body.bytes,
        sha256=body.sha256,
        part_bytes=max(PART_BYTES, -(-body.bytes // MOST_PARTS)),
        status="pending",
        expires_at=moment + LIFETIME,
        created_by=by,
        created_at=moment,
    )
    session.add(upload)
    await session.flush()
    return upload


async def pending(session: AsyncSession, project_id: str, id: str) -> Upload:
    return resumable.require_pending(await resumable.find(session, project_id, id, numbered=True), hint=_HINT)


def part_size(upload: Upload, number: int) -> int:
    part_bytes, count = upload.part_bytes or 0, part_count(upload)
    if not 1 <= number <= count:
        raise InvalidInput(
            f"The upload has {count} parts; there is no part {number}.",
            code="unknown_part",
            param="number",
            hint=f"It has {upload.bytes} bytes in parts of {part_bytes} bytes; parts are counted from 1.",
        )
    return part_bytes if number < count else upload.bytes - part_bytes * (count - 1)


def part_count(upload: Upload) -> int:
    return -(-upload.bytes // (upload.part_bytes or 1))


async def bucket_upload(session: AsyncSession, objects: Objects, upload: Upload) -> str | None:
    """Id of the multipart upload in the bucket, begun if missing; None if the store is a folder."""
    if (parts := objects.store.parts) is None:
        return None
    if upload.bucket_upload is None:
        upload.bucket_upload = await anyio.to_thread.run_sync(parts.begin, resumable.bucket_key(upload))
        await session.flush()
    return upload.bucket_upload


async def note_part(
    session: AsyncSession, upload: Upload, number: int, digest: str, *, in_bucket: bool
) -> None:
    values = {
        "bytes": part_size(upload, number),
        "digest": digest,
        "sha256": None if in_bucket else digest,
        "created_at": now(),
    }
    where = {"upload_id": upload.id, "number": number}
    statement = insert(UploadPart).values(id=new_id("part_"), **where, **values)
    await session.execute(
        statement.on_conflict_do_update(index_elements=["upload_id", "number"], set_=values)
    )
    upload.expires_at, upload.error = now() + LIFETIME, None


async def arrived(session: AsyncSession, objects: Objects, upload: Upload) -> list[UploadPart]:
    query = select(UploadPart).where(UploadPart.upload_id == upload.id).order_by(UploadPart.number)
    rows: Sequence[UploadPart] = (await session.scalars(query)).all()
    if not rows or upload.bucket_upload is None or (parts := objects.store.parts) is None:
        return list(rows)
    sizes = await anyio.to_thread.run_sync(_sizes, parts, resumable.bucket_key(upload), upload.bucket_upload)
    return list(rows) if sizes is None else [row for row in rows if sizes.get(row.number or 0) == row.bytes]


def missing(upload: Upload, parts: Sequence[UploadPart]) -> list[int]:
    received = {part.number for part in parts}
    return [number for number in range(1, part_count(upload) + 1) if number not in received]


async def view(session: AsyncSession, objects: Objects, upload: Upload) -> DatasetUpload:
    parts = await arrived(session, objects, upload)
    status = resumable.status_of(upload)
    dataset = None if upload.dataset_id is None else await session.get(Dataset, upload.dataset_id)
    datasets = [] if dataset is None or dataset.deleted_at else await service.view(session, [dataset])
    listed = [
        DatasetUploadPart(number=part.number or 0, bytes=part.bytes, sha256=part.digest or "")
        for part in parts
    ]
    return DatasetUpload(
        id=upload.id,
        status=status,
        filename=upload.filename,
        name=upload.name,
        bytes=upload.bytes,
        sha256=upload.sha256,
        part_bytes=upload.part_bytes or 0,
        part_count=part_count(upload),
        parts=listed,
        missing=missing(upload, parts) if status == "pending" else [],
        direct=objects.store.parts is not None,
        created_at=upload.created_at,
        expires_at=upload.expires_at,
        dataset=datasets[0] if datasets else None,
    )


async def drop_part(session: AsyncSession, upload: Upload, number: int) -> None:
    await session.execute(
        delete(UploadPart).where(UploadPart.upload_id == upload.id, UploadPart.number == number)
    )


def _sizes(parts: PartStore, key: str, bucket_upload: str) -> dict[int, int] | None:
    try:
        return parts.sizes(key, bucket_upload)
    except ObjectNotFound:
        return None


async def _same(session: AsyncSession, project_id: str, body: DatasetUploadCreate) -> Upload | None:
    if body.sha256 is None:
        return None
    upload: Upload | None = await session.scalar(
        select(Upload)
        .where(
            Upload.project_id == project_id,
            Upload.sha256 == body.sha256,
            Upload.bytes == body.bytes,
            Upload.filename == (Path(body.filename).name or "dataset"),
            Upload.name.is_not_distinct_from(body.name),
            Upload.part_bytes.is_not(None),
            Upload.status == "pending",
            Upload.expires_at > now(),
        )
        .order_by(Upload.created_at.desc())
        .limit(1)
        .with_for_update()
    )
    return upload
