"""Lifecycle of uploads in parts, in this API and in OpenAI's."""

from datetime import timedelta
from typing import Literal

import anyio.to_thread
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.data.objects import Objects
from backend.models import Upload, UploadPart, now
from reinforge.dataset.limits import inspection_seconds
from reinforge.errors import NotFound, StateConflict

Ending = Literal["completed", "cancelled", "expired", "refused"]


async def find(
    session: AsyncSession, project_id: str, id: str, *, numbered: bool, param: str | None = None
) -> Upload:
    query = select(Upload).where(
        Upload.id == id, Upload.project_id == project_id, Upload.part_bytes.is_not(None) == numbered
    )
    upload = await session.scalar(query.with_for_update().execution_options(populate_existing=True))
    if upload is None:
        raise NotFound(f"There is no upload {id}.", code="upload_not_found", param=param)
    return upload


def require_pending(upload: Upload, *, hint: str, param: str | None = None) -> Upload:
    if (status := status_of(upload)) != "pending":
        raise StateConflict(
            f"The upload is {status}, not pending.", code="upload_not_pending", param=param, hint=hint
        )
    return upload


def status_of(upload: Upload) -> str:
    return "expired" if upload.status == "pending" and upload.expires_at < now() else upload.status


def keep_while_checked(upload: Upload) -> None:
    needed = timedelta(seconds=3600 + 4 * inspection_seconds(upload.bytes))
    upload.expires_at = max(upload.expires_at, now() + needed)


async def end(session: AsyncSession, upload: Upload, status: Ending, dataset_id: str | None = None) -> None:
    upload.status, upload.dataset_id = status, dataset_id
    await session.execute(delete(UploadPart).where(UploadPart.upload_id == upload.id))
    await session.flush()


def bucket_key(upload: Upload) -> str:
    return f"uploads/{upload.id}"


async def clear_bucket(objects: Objects, upload: Upload) -> None:
    if (parts := objects.store.parts) is not None and upload.part_bytes is not None:
        await anyio.to_thread.run_sync(parts.abort, bucket_key(upload))


async def expire(database: Database, objects: Objects, limit: int = 100) -> int:
    """End expired uploads; a row stays locked while its parts in the bucket are deleted."""
    over = select(Upload).where(Upload.status == "pending", Upload.expires_at < now())
    for ended in range(limit):
        async with database.transaction() as session:
            upload = await session.scalar(over.with_for_update(skip_locked=True).limit(1))
            if upload is None:
                return ended
            await clear_bucket(objects, upload)
            await end(session, upload, "expired")
    return limit
