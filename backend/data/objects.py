"""Registry of immutable objects, named by SHA-256, and their upload."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, BinaryIO

import anyio.to_thread
from fastapi import Depends, Request
from sqlalchemy import delete, exists, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.models import (
    Adapter,
    Checkpoint,
    Dataset,
    Deployment,
    Job,
    JobObject,
    ResumeState,
    StepRollouts,
    StoredObject,
    UploadPart,
    now,
)
from backend.settings import Settings
from reinforge.errors import InvalidInput, NotFound
from reinforge.storage import ObjectConflict, ObjectStore, content_key, open_store

CHUNK = 1024 * 1024
ORPHAN_AGE = timedelta(hours=24)
_REFERENCES = (
    Dataset.sha256,
    Checkpoint.sha256,
    ResumeState.sha256,
    Adapter.sha256,
    Deployment.sha256,
    StepRollouts.sha256,
    Job.start_sha256,
    UploadPart.sha256,
)


def configured_store(settings: Settings) -> ObjectStore:
    return open_store(settings.storage, s3_endpoint_url=settings.s3_endpoint_url)


def object_key(sha256: str) -> str:
    return content_key("blobs", sha256)


class Objects:
    def __init__(self, database: Database, store: ObjectStore) -> None:
        self.database = database
        self.store = store

    async def keep_file(self, path: Path, *, sha256: str, bytes: int, kind: str) -> bool:
        """Store a file; False if it was stored already. Commits by itself: call it before writing a row that
        refers to it.
        """
        if await self.announce(sha256, bytes=bytes, kind=kind):
            return False
        key = object_key(sha256)
        try:
            await anyio.to_thread.run_sync(self.store.put_file, key, path)
        except ObjectConflict:  # unconfirmed, and its content does not match its name
            await anyio.to_thread.run_sync(self.store.delete, key)
            await anyio.to_thread.run_sync(self.store.put_file, key, path)
        await self.confirm(sha256)
        return True

    async def keep_copy(self, key: str, *, sha256: str, bytes: int, kind: str) -> None:
        """Like `keep_file`, for content at `key` in the store. Raises ObjectNotFound."""
        parts = self.store.parts
        assert parts is not None, "the store has a bucket"
        if not await self.announce(sha256, bytes=bytes, kind=kind):
            await anyio.to_thread.run_sync(parts.copy, key, object_key(sha256))
            await self.confirm(sha256)

    async def announce(self, sha256: str, *, bytes: int, kind: str) -> bool:
        async with self.database.transaction() as session:
            state = await session.scalar(
                insert(StoredObject)
                .values(sha256=sha256, key=object_key(sha256), bytes=bytes, kind=kind, touched_at=now())
                .on_conflict_do_update(index_elements=["sha256"], set_={"touched_at": now(), "bytes": bytes})
                .returning(StoredObject.state)
            )
        return state == "stored"

    async def confirm(self, sha256: str) -> None:
        async with self.database.transaction() as session:
            await session.execute(
                update(StoredObject)
                .where(StoredObject.sha256 == sha256)
                .values(state="stored", touched_at=now())
            )

    @asynccontextmanager
    async def open(self, sha256: str) -> AsyncIterator[BinaryIO]:
        """Open an object for reading in a thread. Raises ObjectNotFound."""
        file = await anyio.to_thread.run_sync(self.store.open, object_key(sha256))
        try:
            yield file
        finally:
            await anyio.to_thread.run_sync(file.close)

    async def require_whole(self, row: StoredObject) -> None:
        size = await anyio.to_thread.run_sync(self.store.size, object_key(row.sha256))
        if size != row.bytes:
            raise NotFound(
                f"The object {row.sha256} has {size} bytes in the store instead of {row.bytes}.",
                code="blob_damaged",
                hint="Its disk may have lost data; bring the object back from a backup of the store.",
            )

    async def fetch(self, sha256: str, path: Path) -> None:
        """Download an object atomically to a file. Raises ObjectNotFound."""
        await anyio.to_thread.run_sync(self.store.get_file, object_key(sha256), path)

    async def stream(self, sha256: str) -> AsyncIterator[bytes]:
        async with self.open(sha256) as file:
            while chunk := await anyio.to_thread.run_sync(file.read, CHUNK):
                yield chunk

    async def sweep_orphans(self, limit: int = 200) -> int:
        """Delete unreferenced objects last touched over a day ago; returns how many. Concurrent uploads wait
        for the locked rows.
        """
        unused = [~exists().where(column == StoredObject.sha256) for column in _REFERENCES]
        deleted = 0
        while deleted < limit:
            async with self.database.transaction() as session:
                sha256 = await session.scalar(
                    select(StoredObject.sha256)
                    .where(StoredObject.touched_at < now() - ORPHAN_AGE, *unused)
                    .with_for_update(skip_locked=True)
                    .limit(1)
                )
                if sha256 is None:
                    break
                await anyio.to_thread.run_sync(self.store.delete, object_key(sha256))
                await session.execute(delete(StoredObject).where(StoredObject.sha256 == sha256))
            deleted += 1
        return deleted


async def get_objects(request: Request) -> Objects:
    objects: Objects = request.app.state.objects
    return objects


ObjectsDep = Annotated[Objects, Depends(get_objects)]


async def require_stored(session: AsyncSession, sha256: str) -> StoredObject:
    row = await session.scalar(
        select(StoredObject)
        .where(StoredObject.sha256 == sha256, StoredObject.state == "stored")
        .with_for_update(read=True, key_share=True)
    )
    if row is None:
        raise _not_uploaded(sha256)
    return row


def _not_uploaded(sha256: str) -> InvalidInput:
    return InvalidInput(
        f"No object {sha256} has been uploaded.",
        code="blob_missing",
        hint="Upload it with PUT /worker/v1/blobs/{sha256} before the record that names it.",
    )


async def note_upload(session: AsyncSession, job_id: str, sha256: str) -> bool:
    row = insert(JobObject).values(job_id=job_id, sha256=sha256).on_conflict_do_nothing()
    return await session.scalar(row.returning(JobObject.sha256)) is not None


async def require_uploaded(session: AsyncSession, job_id: str, sha256: str) -> None:
    """Share-lock an object, which the job's own worker must have uploaded. Raises InvalidInput."""
    if await session.get(JobObject, (job_id, sha256)) is None:
        raise _not_uploaded(sha256)
    await require_stored(session, sha256)


async def mistrust(session: AsyncSession, sha256: str) -> None:
    await session.execute(update(StoredObject).where(StoredObject.sha256 == sha256).values(state="writing"))


async def find_stored(session: AsyncSession, sha256: str) -> StoredObject:
    row = await session.get(StoredObject, sha256)
    if row is None or row.state != "stored":
        raise NotFound(f"No object {sha256} is stored.", code="blob_not_found")
    return row
