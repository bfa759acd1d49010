"""Endpoints for uploads in parts, which may be sent in any order, in parallel and more than once."""

from datetime import timedelta
from pathlib import Path as FilePath
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request, Response

from backend.access.auth import Reader, SettingsDep, Writer
from backend.data.database import DatabaseDep, Session
from backend.data.objects import ObjectsDep
from backend.datasets.uploads import complete, numbered_parts, resumable
from backend.http.idempotency import Once, OnceWhole, fingerprint
from backend.http.multipart import too_large
from backend.http.spool import spool
from backend.http.strict_json import StrictRoute
from backend.models import now
from backend.usage import check_storage, require_storage
from reinforge.errors import InvalidInput, StateConflict
from reinforge.schemas.uploads import DatasetUpload, DatasetUploadCreate, DatasetUploadPart, PartDestination
from reinforge.storage.base import scratch_file

router = APIRouter(prefix="/api/v1/uploads", tags=["datasets"], route_class=StrictRoute)

Number = Annotated[int, Path(ge=1, le=numbered_parts.MOST_PARTS)]
Digest = Annotated[str, Query(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the part, in hex.")]
_BYTES = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("", status_code=201, operation_id="createDatasetUpload", response_model=DatasetUpload)
async def create(
    body: DatasetUploadCreate,
    session: Session,
    settings: SettingsDep,
    objects: ObjectsDep,
    once: Once,
    who: Writer,
) -> Response:
    """Start an upload. With `sha256`, an unfinished upload of the same file is returned instead."""
    if body.bytes > settings.upload_limit_bytes:
        raise too_large(settings.upload_limit_bytes)
    await require_storage(session, who.project_id, body.bytes)
    if (stored := await once.begin(session, fingerprint(body.model_dump_json()))) is not None:
        return stored
    upload = await numbered_parts.create(session, who.project_id, body, who.name)
    return await once.finish(session, 201, await numbered_parts.view(session, objects, upload))


@router.get("/{id}", operation_id="getDatasetUpload")
async def get(id: str, session: Session, objects: ObjectsDep, who: Reader) -> DatasetUpload:
    """An upload, with the parts received and the parts missing."""
    upload = await resumable.find(session, who.project_id, id, numbered=True)
    return await numbered_parts.view(session, objects, upload)


@router.put("/{id}/parts/{number}", operation_id="putDatasetUploadPart", openapi_extra=_BYTES)
async def put_part(
    id: str,
    number: Number,
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    objects: ObjectsDep,
    who: Writer,
    sha256: Digest | None = None,
) -> DatasetUploadPart:
    """Store the request's body as a part; without `sha256`, only its size is checked.

    A part that is sent again replaces the earlier one.
    """
    async with database.transaction() as session:
        upload = await numbered_parts.pending(session, who.project_id, id)
        size = numbered_parts.part_size(upload, number)
        bucket_upload = await numbered_parts.bucket_upload(session, objects, upload)
    with scratch_file(settings.home_folder / "uploads", "upload-") as file:
        received, digest = await spool(request.stream(), file, size + 1)
        _check_part(number, size, received, sha256, digest)
        if bucket_upload is None or (parts := objects.store.parts) is None:
            await objects.keep_file(FilePath(file.name), sha256=digest, bytes=size, kind="upload_part")
        else:
            file.seek(0)
            key = resumable.bucket_key(upload)
            await anyio.to_thread.run_sync(parts.put, key, bucket_upload, number, file)
    async with database.transaction() as session:
        upload = await numbered_parts.pending(session, who.project_id, id)
        await numbered_parts.note_part(session, upload, number, digest, in_bucket=bucket_upload is not None)
        await check_storage(session, who.project_id)
    return DatasetUploadPart(number=number, bytes=size, sha256=digest)


@router.post("/{id}/parts/{number}/url", operation_id="createDatasetUploadPartUrl")
async def part_url(
    id: str, number: Number, sha256: Digest, session: Session, objects: ObjectsDep, who: Writer
) -> PartDestination:
    """A URL for sending the part to the object store; 409 `not_direct` if the store has no HTTP API."""
    upload = await numbered_parts.pending(session, who.project_id, id)
    numbered_parts.part_size(upload, number)
    parts, bucket_upload = objects.store.parts, await numbered_parts.bucket_upload(session, objects, upload)
    if parts is None or bucket_upload is None:
        raise StateConflict(
            "The object store is a folder, so its parts have no URLs: send them to the server.",
            code="not_direct",
            hint="PUT the part to /api/v1/uploads/{id}/parts/{number}.",
        )
    await numbered_parts.note_part(session, upload, number, sha256, in_bucket=True)
    await check_storage(session, who.project_id)
    where = parts.url(
        resumable.bucket_key(upload),
        bucket_upload,
        number,
        sha256=sha256,
        expires_seconds=numbered_parts.URL_SECONDS,
    )
    until = now() + timedelta(seconds=numbered_parts.URL_SECONDS)
    return PartDestination(url=where.url, headers=where.headers, expires_at=until)


@router.post("/{id}/complete", operation_id="completeDatasetUpload")
async def complete_upload(
    id: str,
    database: DatabaseDep,
    settings: SettingsDep,
    objects: ObjectsDep,
    who: Writer,
    skip_bad_rows: bool = False,
) -> DatasetUpload:
    """Join the parts, inspect the file and create the dataset. Idempotent.

    If bad rows can be skipped (`faults.skippable` of the error), the upload stays open: complete it again with
    `skip_bad_rows`.
    """
    folder = settings.home_folder / "uploads"
    limit = settings.upload_limit_bytes
    return await complete.complete(
        database,
        objects,
        who.project_id,
        id,
        who.name,
        folder=folder,
        limit=limit,
        skip_bad_rows=skip_bad_rows,
    )


@router.post("/{id}/cancel", dependencies=[OnceWhole], operation_id="cancelDatasetUpload")
async def cancel(id: str, session: Session, objects: ObjectsDep, who: Writer) -> DatasetUpload:
    """Cancel the upload and delete its parts."""
    upload = await numbered_parts.pending(session, who.project_id, id)
    await resumable.clear_bucket(objects, upload)
    await resumable.end(session, upload, "cancelled")
    return await numbered_parts.view(session, objects, upload)


def _check_part(number: int, size: int, received: int, sha256: str | None, digest: str) -> None:
    if received != size:
        raise InvalidInput(
            f"Part {number} has {'more than ' if received > size else ''}{min(received, size)} bytes; expected {size}.",
            code="wrong_part_size",
            param="number",
            hint="All parts but the last have the upload's `part_bytes`; the connection may have broken.",
        )
    if sha256 is not None and digest != sha256:
        raise InvalidInput(
            f"The SHA-256 of part {number} is {digest}, not {sha256}.",
            code="part_mismatch",
            param="sha256",
            hint="The part was damaged or changed while it was sent; send it again.",
        )
