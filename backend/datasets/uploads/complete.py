"""Completion of an upload in numbered parts."""

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO
from weakref import WeakValueDictionary

import anyio.to_thread

from backend.data.database import Database
from backend.data.objects import Objects, object_key
from backend.datasets import service
from backend.datasets.uploads import numbered_parts, resumable
from backend.datasets.uploads.inspection import InspectedFile, as_error, inspected
from backend.datasets.uploads.inspection_child import TOO_COMPLEX
from backend.models import Upload, UploadPart, now
from backend.usage import check_storage
from reinforge.dataset import DatasetReport
from reinforge.errors import InvalidInput, TooLarge
from reinforge.schemas.uploads import DatasetUpload
from reinforge.storage.base import disk_error, scratch_file

SKIP_LIFETIME = timedelta(hours=1)
_CHUNK = 1 << 20
_going_on: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def complete(
    database: Database,
    objects: Objects,
    project_id: str,
    id: str,
    by: str,
    *,
    folder: Path,
    limit: int,
    skip_bad_rows: bool = False,
) -> DatasetUpload:
    """Join an upload's parts into a dataset; idempotent. If a part is missing or a budget exceeded, nothing
    changes.
    """
    lock = _going_on.setdefault(id, asyncio.Lock())
    async with lock:
        async with database.transaction() as session:
            upload = await resumable.find(session, project_id, id, numbered=True)
            if upload.status == "completed":
                return await numbered_parts.view(session, objects, upload)
            if upload.error is not None and not (skip_bad_rows and upload.status == "pending"):
                raise as_error(upload.error["status"], upload.error)
            upload = await numbered_parts.pending(session, project_id, id)
            parts = await numbered_parts.arrived(session, objects, upload)
            _require_all(upload, parts)
            resumable.keep_while_checked(upload)
        try:
            report = await _stored(objects, upload, parts, folder, limit, skip_bad_rows)
        except (InvalidInput, TooLarge) as error:
            if error.code != TOO_COMPLEX:  # a killed reader proves nothing about the file
                await _refuse(database, objects, upload, error)
            raise
        async with database.transaction() as session:
            upload = await numbered_parts.pending(session, project_id, id)
            dataset = await service.add(session, project_id, report, upload.name, by)
            await resumable.end(session, upload, "completed", dataset.id)
            await check_storage(session, project_id)
            upload_view = await numbered_parts.view(session, objects, upload)
        await resumable.clear_bucket(objects, upload)
    return upload_view


async def _stored(
    objects: Objects,
    upload: Upload,
    parts: Sequence[UploadPart],
    folder: Path,
    limit: int,
    skip_bad_rows: bool,
) -> DatasetReport:
    with scratch_file(folder, "upload-") as file:
        if upload.bucket_upload is None:
            await join(objects, [str(part.sha256) for part in parts], file)
        else:
            await anyio.to_thread.run_sync(_from_bucket, objects, upload, parts, file)
        path = Path(file.name)
        async with inspected(
            path, upload.filename, limit, project=upload.project_id, skip_bad_rows=skip_bad_rows
        ) as file_to_store:
            await _store(objects, upload, file_to_store)
    return file_to_store.report


async def _store(objects: Objects, upload: Upload, file: InspectedFile) -> None:
    report = file.report
    sha256 = report.sha256 if report.skipped is None else report.skipped.sha256
    if upload.sha256 is not None and sha256 != upload.sha256:
        raise InvalidInput(
            f"The file's SHA-256 is {sha256}, but the upload was announced with {upload.sha256}.",
            code="wrong_sha256",
            param="sha256",
            hint="The file has changed while it was sent. Send it again in another upload.",
        )
    if upload.bucket_upload is None or report.skipped is not None:
        await objects.keep_file(file.path, sha256=report.sha256, bytes=report.bytes, kind="dataset")
    else:
        await objects.keep_copy(
            resumable.bucket_key(upload), sha256=report.sha256, bytes=report.bytes, kind="dataset"
        )


async def join(objects: Objects, hashes: Sequence[str], file: IO[bytes]) -> str:
    return await anyio.to_thread.run_sync(_join, objects, hashes, file)


def _join(objects: Objects, hashes: Sequence[str], file: IO[bytes]) -> str:
    digest = hashlib.md5(usedforsecurity=False)  # sent by clients to verify the transfer
    for sha256 in hashes:
        with objects.store.open(object_key(sha256)) as source:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                _write(file, chunk)
    _write(file, b"")
    return digest.hexdigest()


def _from_bucket(objects: Objects, upload: Upload, parts: Sequence[UploadPart], file: IO[bytes]) -> None:
    store, key = objects.store, resumable.bucket_key(upload)
    assert store.parts is not None and upload.bucket_upload is not None
    if not store.exists(key):  # else an earlier attempt ended between here and the dataset's row
        store.parts.complete(key, upload.bucket_upload)
    with store.open(key) as source:
        for part in parts:
            digest, remaining = hashlib.sha256(), part.bytes
            while remaining and (chunk := source.read(min(_CHUNK, remaining))):
                remaining -= len(chunk)
                digest.update(chunk)
                _write(file, chunk)
            if remaining or digest.hexdigest() != part.digest:
                raise InvalidInput(
                    f"Part {part.number} in the bucket does not have the announced size and SHA-256.",
                    code="part_mismatch",
                    param="number",
                    hint="The part was damaged on the way. Create another upload and send the file again.",
                )
    _write(file, b"")


def _write(file: IO[bytes], chunk: bytes) -> None:
    try:
        file.write(chunk)
        if not chunk:
            file.flush()
    except OSError as error:
        raise disk_error(error) from error


def _require_all(upload: Upload, parts: Sequence[UploadPart]) -> None:
    if missing := numbered_parts.missing(upload, parts):
        some = ", ".join(str(number) for number in missing[:10]) + (", …" if len(missing) > 10 else "")
        raise InvalidInput(
            f"{len(missing)} of {numbered_parts.part_count(upload)} parts are missing: {some}.",
            code="missing_parts",
            param="parts",
            hint=f"Send them with PUT /api/v1/uploads/{upload.id}/parts/{{number}}, then complete again.",
        )


async def _refuse(
    database: Database, objects: Objects, upload: Upload, error: InvalidInput | TooLarge
) -> None:
    async with database.transaction() as session:
        upload_row = await resumable.find(session, upload.project_id, upload.id, numbered=True)
        if upload_row.status != "pending":
            return
        upload_row.error = {"status": error.status} | error.envelope()["error"]
        if error.faults is not None and error.faults["skippable"]:
            # Its parts are needed to complete it without the bad rows.
            upload_row.expires_at = min(upload_row.expires_at, now() + SKIP_LIFETIME)
            return
        await resumable.end(session, upload_row, "refused")
    await resumable.clear_bucket(objects, upload)
