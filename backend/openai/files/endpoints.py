"""/v1/files: datasets as OpenAI files."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from backend.access.auth import Reader, SettingsDep, Writer
from backend.data.database import Session
from backend.data.objects import ObjectsDep
from backend.datasets import service as datasets
from backend.datasets.uploads.inspection import inspected
from backend.http.downloads import attachment, stream_object
from backend.http.errors import validation_error
from backend.http.idempotency import Once, fingerprint
from backend.http.multipart import receive
from backend.models import Dataset
from backend.openai.conventions import OpenAIRoute, listed, seconds, unknown_after
from backend.usage import check_storage, require_storage
from reinforge.errors import InvalidInput, NotFound
from reinforge.schemas.openai_common import Deleted, WireList
from reinforge.schemas.openai_files import ExpiresAfter, File

router = APIRouter(prefix="/v1/files", tags=["openai"], route_class=OpenAIRoute)

PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "purpose"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "purpose": {"type": "string", "enum": ["fine-tune"]},
                        "expires_after[anchor]": {"type": "string", "enum": ["created_at"]},
                        "expires_after[seconds]": {"type": "integer"},
                        "skip_bad_rows": {"type": "boolean", "default": False},
                    },
                }
            }
        },
    }
}


@router.post("", operation_id="createFile", response_model=File, openapi_extra=_FORM)
async def create(
    request: Request, session: Session, settings: SettingsDep, objects: ObjectsDep, once: Once, who: Writer
) -> Response:
    """Upload a dataset. It is accepted as a whole, or rejected with the line of the first error in the
    message.

    `skip_bad_rows`, beyond OpenAI's API (SDKs send it in `extra_body`), skips bad rows.
    """
    limit = settings.upload_limit_bytes
    await require_storage(session, who.project_id, int(request.headers.get("content-length") or 0))
    await session.commit()  # hold no connection while receiving
    async with receive(request, settings.home_folder / "uploads", limit) as upload:
        check_purpose(upload.fields.get("purpose"))
        lifetime = _lifetime_seconds(upload.fields)
        skip_bad_rows = upload.flag("skip_bad_rows")
        async with inspected(
            upload.path, upload.filename, limit, project=who.project_id, skip_bad_rows=skip_bad_rows
        ) as file:
            report = file.report
            await require_storage(session, who.project_id, report.bytes)  # may be unknown in advance
            await session.commit()
            await objects.keep_file(file.path, sha256=report.sha256, bytes=report.bytes, kind="dataset")
    request_hash = fingerprint(upload.sha256, upload.filename, str(lifetime), "skip" if skip_bad_rows else "")
    if (stored := await once.begin(session, request_hash)) is not None:
        return stored
    dataset = await datasets.add(session, who.project_id, report, None, who.name, lifetime_seconds=lifetime)
    await check_storage(session, who.project_id)
    return await once.finish(session, 200, file_view(dataset))


@router.get("", operation_id="listFiles")
async def list_files(
    session: Session,
    who: Reader,
    purpose: str | None = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
    order: Literal["asc", "desc"] = "desc",
    after: str | None = None,
) -> WireList[File]:
    """Files in the order of creation. All have the purpose `fine-tune`."""
    if purpose not in (None, "fine-tune"):
        return listed([], has_more=False)
    page = await datasets.page_behind(
        session, who.project_id, limit=limit, after=after, oldest_first=order == "asc"
    )
    if page is None:
        raise unknown_after(after or "")
    return listed([file_view(dataset) for dataset in page[0]], has_more=page[1])


@router.get("/{file_id}", operation_id="getFile")
async def get(file_id: str, session: Session, who: Reader) -> File:
    return file_view(await _find(session, who.project_id, file_id))


@router.delete("/{file_id}", operation_id="deleteFile")
async def delete(file_id: str, session: Session, who: Writer) -> Deleted:
    """Delete a file. Refused while an unfinished job needs it. Its bytes stay for the finished jobs that
    refer to it.
    """
    try:
        await datasets.delete(session, who.project_id, file_id)
    except NotFound as error:
        raise _unknown_file(file_id) from error
    return Deleted(id=file_id, object="file")


@router.get("/{file_id}/content", operation_id="downloadFile", response_class=Response)
async def content(
    file_id: str, request: Request, session: Session, objects: ObjectsDep, who: Reader
) -> Response:
    """The file, byte for byte as uploaded."""
    dataset = await _find(session, who.project_id, file_id)
    return stream_object(
        request,
        objects,
        dataset.sha256,
        etag=dataset.sha256,
        media_type="application/octet-stream",
        headers=attachment(dataset.filename) | {"content-length": str(dataset.bytes)},
    )


def check_purpose(purpose: str | None) -> None:
    if purpose == "fine-tune":
        return
    code = "purpose_not_offered" if purpose in PURPOSES else "invalid_purpose"
    problem = "`purpose` is missing" if purpose is None else f"The purpose {purpose[:50]!r} is not offered"
    raise InvalidInput(
        f"{problem}: this server accepts only datasets for training and evaluation as files.",
        code=code,
        param="purpose",
        hint="Send `purpose=fine-tune`.",
    )


def file_view(dataset: Dataset) -> File:
    return File(
        id=dataset.id,
        bytes=dataset.bytes,
        created_at=seconds(dataset.created_at),
        expires_at=seconds(dataset.expires_at) if dataset.expires_at else None,
        filename=dataset.filename,
    )


def _lifetime_seconds(fields: dict[str, str]) -> int | None:
    start, end = "expires_after[", "]"
    expiry = {
        name.removeprefix(start).removesuffix(end): value
        for name, value in fields.items()
        if name.startswith(start) and name.endswith(end)
    }
    if not expiry:
        return None
    try:
        return ExpiresAfter.model_validate(expiry).seconds
    except ValidationError as error:
        listed_errors = [problem | {"loc": ("expires_after", *problem["loc"])} for problem in error.errors()]
        raise validation_error(listed_errors, {"expires_after": expiry}) from error


async def _find(session: Session, project_id: str, id: str) -> Dataset:
    try:
        return await datasets.get(session, project_id, id)
    except NotFound as error:
        raise _unknown_file(id) from error


def _unknown_file(id: str) -> NotFound:
    return NotFound(
        f"There is no file {id}.", code="file_not_found", param="file_id", hint="GET /v1/files lists them."
    )
