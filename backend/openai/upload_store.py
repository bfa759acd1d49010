"""Uploads in parts: each part is a stored object, until the upload ends and the sweep takes it."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO

import anyio.to_thread
from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.ids import new_id
from backend.models import Upload, UploadPart, now
from backend.objects import Objects, object_key
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.schemas.openai_files import UploadCreate

LIFETIME = timedelta(hours=1)
"""From creation to completion, as at OpenAI."""
PART_BYTES = 64 * 1024**2
_CHUNK = 1 << 20


async def create(session: AsyncSession, project_id: str, body: UploadCreate, created_by: str) -> Upload:
    moment = now()
    upload = Upload(
        id=new_id("upload_"),
        project_id=project_id,
        filename=Path(body.filename).name or "dataset",
        bytes=body.bytes,
        status="pending",
        expires_at=moment + LIFETIME,
        file_seconds=body.expires_after.seconds if body.expires_after else None,
        created_by=created_by,
        created_at=moment,
    )
    session.add(upload)
    await session.flush()
    return upload


async def pending(session: AsyncSession, project_id: str, id: str) -> Upload:
    """An upload that may still be written to, locked. Raises NotFound, StateConflict `upload_not_pending`."""
    query = select(Upload).where(Upload.id == id, Upload.project_id == project_id).with_for_update()
    upload = await session.scalar(query.execution_options(populate_existing=True))
    if upload is None:
        raise NotFound(f"There is no upload {id}.", code="upload_not_found", param="upload_id")
    status = "expired" if upload.status == "pending" and upload.expires_at < now() else upload.status
    if status != "pending":
        raise StateConflict(
            f"The upload is {status}.",
            code="upload_not_pending",
            param="upload_id",
            hint="Create another one: an upload has an hour to be completed in.",
        )
    return upload


async def check_room(session: AsyncSession, upload: Upload) -> None:
    """A part that is sent again counts twice, so there is room for that. Raises InvalidInput."""
    query = select(func.coalesce(func.sum(UploadPart.bytes), 0)).where(UploadPart.upload_id == upload.id)
    if int(await session.scalar(query) or 0) > 2 * upload.bytes:
        raise InvalidInput(
            f"The upload was announced with {upload.bytes} bytes, and its parts have over twice as many.",
            code="too_many_parts",
            param="data",
        )


async def add_part(session: AsyncSession, upload: Upload, sha256: str, bytes: int) -> UploadPart:
    part = UploadPart(id=new_id("part_"), upload_id=upload.id, sha256=sha256, bytes=bytes, created_at=now())
    session.add(part)
    await session.flush()
    return part


async def parts_in_order(session: AsyncSession, upload: Upload, ids: Sequence[str]) -> list[UploadPart]:
    """Raises InvalidInput for a part that is not there and when the sizes do not add up."""
    rows = await session.scalars(select(UploadPart).where(UploadPart.upload_id == upload.id))
    known = {part.id: part for part in rows}
    for place, id in enumerate(ids):
        if id not in known or id in ids[:place]:
            word = "is named twice" if id in known else "is not a part of this upload"
            raise InvalidInput(f"{id[:100]} {word}.", code="invalid_part", param=f"part_ids[{place}]")
    parts = [known[id] for id in ids]
    if (total := sum(part.bytes for part in parts)) != upload.bytes:
        raise InvalidInput(
            f"The parts have {total} bytes together, and the upload was announced with {upload.bytes}.",
            code="wrong_size",
            param="part_ids",
            hint="Send what is missing, or create another upload with the right size.",
        )
    return parts


async def join(objects: Objects, parts: Sequence[UploadPart], file: IO[bytes]) -> str:
    """Write the parts one behind the other; returns their MD5."""
    return await anyio.to_thread.run_sync(_join, objects, [part.sha256 for part in parts], file)


def _join(objects: Objects, hashes: list[str], file: IO[bytes]) -> str:
    digest = hashlib.md5(usedforsecurity=False)  # what clients send to check the transfer by
    for sha256 in hashes:
        with objects.store.open(object_key(sha256)) as source:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
    file.flush()
    return digest.hexdigest()


async def end(session: AsyncSession, upload: Upload, status: str, dataset_id: str | None = None) -> None:
    """Complete or cancel a locked upload; its parts go."""
    upload.status, upload.dataset_id = status, dataset_id
    await session.execute(delete(UploadPart).where(UploadPart.upload_id == upload.id))
    await session.flush()


async def expire(session: AsyncSession) -> None:
    """End uploads whose hour is over."""
    query = select(Upload).where(Upload.status == "pending", Upload.expires_at < now())
    for upload in await session.scalars(query.with_for_update(skip_locked=True).limit(100)):
        await end(session, upload, "expired")
