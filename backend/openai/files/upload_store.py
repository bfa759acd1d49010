"""Uploads of OpenAI's API, whose parts have ids and may have any size."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.datasets.uploads import resumable
from backend.models import Upload, UploadPart, now
from reinforge.errors import InvalidInput
from reinforge.schemas.openai_files import UploadCreate

LIFETIME = timedelta(hours=1)
PART_BYTES = 64 * 1024**2


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
    upload = await resumable.find(session, project_id, id, numbered=False, param="upload_id")
    hint = "Create another upload, and complete it within an hour."
    return resumable.require_pending(upload, hint=hint, param="upload_id")


async def check_room(session: AsyncSession, upload: Upload) -> None:
    query = select(func.coalesce(func.sum(UploadPart.bytes), 0)).where(UploadPart.upload_id == upload.id)
    if int(await session.scalar(query) or 0) > 2 * upload.bytes:
        raise InvalidInput(
            f"The upload was announced with {upload.bytes} bytes, but its parts have over twice as many.",
            code="too_many_parts",
            param="data",
        )


async def add_part(session: AsyncSession, upload: Upload, sha256: str, bytes: int) -> UploadPart:
    part = UploadPart(id=new_id("part_"), upload_id=upload.id, sha256=sha256, bytes=bytes, created_at=now())
    session.add(part)
    await session.flush()
    return part


async def parts_in_order(session: AsyncSession, upload: Upload, ids: Sequence[str]) -> list[UploadPart]:
    rows = await session.scalars(select(UploadPart).where(UploadPart.upload_id == upload.id))
    part_by_id = {part.id: part for part in rows}
    for place, id in enumerate(ids):
        if id not in part_by_id or id in ids[:place]:
            word = "is named twice" if id in part_by_id else "is not a part of this upload"
            raise InvalidInput(f"{id[:100]} {word}.", code="invalid_part", param=f"part_ids[{place}]")
    parts = [part_by_id[id] for id in ids]
    if (total := sum(part.bytes for part in parts)) != upload.bytes:
        raise InvalidInput(
            f"The parts have {total} bytes together, but the upload was announced with {upload.bytes}.",
            code="wrong_size",
            param="part_ids",
            hint="Send what is missing, or create another upload with the right size.",
        )
    return parts
