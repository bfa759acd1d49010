"""/v1/uploads: large files in parts."""

from pathlib import Path

from fastapi import APIRouter, Request, Response

from backend.access.auth import SettingsDep, Writer
from backend.data.database import DatabaseDep, Session
from backend.data.objects import ObjectsDep
from backend.datasets import service as datasets
from backend.datasets.uploads import complete
from backend.datasets.uploads import resumable as dataset_uploads
from backend.datasets.uploads.inspection import inspected
from backend.http.idempotency import Once, OnceWhole
from backend.http.multipart import receive, too_large
from backend.models import Dataset
from backend.models import Upload as UploadRow
from backend.openai.conventions import OpenAIRoute, seconds
from backend.openai.files import upload_store
from backend.openai.files.endpoints import check_purpose, file_view
from backend.usage import check_storage, require_storage
from reinforge.errors import InvalidInput
from reinforge.schemas.openai_files import Upload, UploadComplete, UploadCreate, UploadPart
from reinforge.storage.base import scratch_file

router = APIRouter(prefix="/v1/uploads", tags=["openai"], route_class=OpenAIRoute)

_PART = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["data"],
                    "properties": {"data": {"type": "string", "format": "binary"}},
                }
            }
        },
    }
}


@router.post("", dependencies=[OnceWhole], operation_id="createUpload")
async def create(body: UploadCreate, session: Session, settings: SettingsDep, who: Writer) -> Upload:
    check_purpose(body.purpose)
    if body.bytes > settings.upload_limit_bytes:
        raise too_large(settings.upload_limit_bytes)
    await require_storage(session, who.project_id, body.bytes)
    return _view(await upload_store.create(session, who.project_id, body, who.name), None)


@router.post(
    "/{upload_id}/parts", operation_id="createUploadPart", response_model=UploadPart, openapi_extra=_PART
)
async def add_part(
    upload_id: str,
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    objects: ObjectsDep,
    who: Writer,
    once: Once,
) -> Response:
    """Add a part of at most 64 MiB. Parts may be sent in parallel and repeated."""
    async with database.transaction() as session:
        await upload_store.check_room(session, await upload_store.pending(session, who.project_id, upload_id))
    folder = settings.home_folder / "uploads"
    async with receive(request, folder, upload_store.PART_BYTES, part="data") as arrived:
        await objects.keep_file(arrived.path, sha256=arrived.sha256, bytes=arrived.bytes, kind="upload_part")
    async with database.transaction() as session:
        if (stored := await once.begin(session, once.request_hash(arrived.sha256.encode()))) is not None:
            return stored
        upload = await upload_store.pending(session, who.project_id, upload_id)
        part = await upload_store.add_part(session, upload, arrived.sha256, arrived.bytes)
        await check_storage(session, who.project_id)
        part_view = UploadPart(id=part.id, created_at=seconds(part.created_at), upload_id=upload_id)
        return await once.finish(session, 200, part_view)


@router.post("/{upload_id}/complete", response_model=Upload, operation_id="completeUpload")
async def complete_upload(
    upload_id: str,
    body: UploadComplete,
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    objects: ObjectsDep,
    who: Writer,
    once: Once,
) -> Response:
    """Join the parts and inspect the file. A rejected file leaves the upload unchanged: if its bad rows can be
    skipped, complete it again with `skip_bad_rows`.
    """
    request_hash = once.request_hash(await request.body())
    async with database.transaction() as session:
        if (stored := await once.peek(session, request_hash)) is not None:
            return stored
        upload = await upload_store.pending(session, who.project_id, upload_id)
        parts = await upload_store.parts_in_order(session, upload, body.part_ids)
        dataset_uploads.keep_while_checked(upload)
    with scratch_file(settings.home_folder / "uploads", "upload-") as file:
        md5 = await complete.join(objects, [str(part.sha256) for part in parts], file)
        if body.md5 is not None and md5 != body.md5.lower():
            raise InvalidInput(
                f"The file's MD5 is {md5}, not the value of `md5`.",
                code="wrong_md5",
                param="md5",
                hint="A part was damaged while it was sent: send it again, and name its new id.",
            )
        async with inspected(
            Path(file.name),
            upload.filename,
            settings.upload_limit_bytes,
            project=who.project_id,
            skip_bad_rows=body.skip_bad_rows,
        ) as stored_file:
            report = stored_file.report
            await objects.keep_file(
                stored_file.path, sha256=report.sha256, bytes=report.bytes, kind="dataset"
            )
    async with database.transaction() as session:
        if (stored := await once.begin(session, request_hash)) is not None:
            return stored
        upload = await upload_store.pending(session, who.project_id, upload_id)
        lifetime = upload.file_seconds
        dataset = await datasets.add(
            session, who.project_id, report, None, who.name, lifetime_seconds=lifetime
        )
        await dataset_uploads.end(session, upload, "completed", dataset.id)
        await check_storage(session, who.project_id)
        return await once.finish(session, 200, _view(upload, dataset))


@router.post("/{upload_id}/cancel", dependencies=[OnceWhole], operation_id="cancelUpload")
async def cancel(upload_id: str, session: Session, who: Writer) -> Upload:
    upload = await upload_store.pending(session, who.project_id, upload_id)
    await dataset_uploads.end(session, upload, "cancelled")
    return _view(upload, None)


def _view(upload: UploadRow, dataset: Dataset | None) -> Upload:
    return Upload(
        id=upload.id,
        bytes=upload.bytes,
        created_at=seconds(upload.created_at),
        expires_at=seconds(upload.expires_at),
        filename=upload.filename,
        status=upload.status,
        file=file_view(dataset) if dataset else None,
    )
