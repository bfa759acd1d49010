"""Endpoints of datasets."""

from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from backend.access.auth import Reader, SettingsDep, Writer
from backend.access.work_slots import unless_disconnected
from backend.data.database import Session
from backend.data.objects import ObjectsDep
from backend.datasets import service
from backend.datasets.uploads.inspection import inspected
from backend.http.conditional import tagged
from backend.http.cursors import encode_cursor
from backend.http.downloads import attachment, stream_object
from backend.http.idempotency import Once, fingerprint
from backend.http.multipart import receive
from backend.http.strict_json import RecordedRoute
from backend.usage import check_storage, require_storage
from reinforge.errors import InvalidInput
from reinforge.schemas.common import Page
from reinforge.schemas.resources import Dataset, DatasetRows

router = APIRouter(prefix="/api/v1", tags=["datasets"], route_class=RecordedRoute)

Limit = Annotated[int, Query(ge=1, le=100)]
_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "name": {"type": "string"},
                        "skip_bad_rows": {"type": "boolean", "default": False},
                    },
                }
            }
        },
    }
}
_MEDIA_TYPES = {"jsonl": "application/jsonl", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


@router.post(
    "/datasets", status_code=201, operation_id="createDataset", response_model=Dataset, openapi_extra=_UPLOAD
)
async def create(
    request: Request, session: Session, settings: SettingsDep, objects: ObjectsDep, once: Once, who: Writer
) -> Response:
    """Upload a JSONL, CSV or Parquet file. It is accepted as a whole, or rejected with the lines and columns
    of the first 20 errors. With `skip_bad_rows`, bad rows are skipped.
    """
    limit = settings.upload_limit_bytes
    await require_storage(session, who.project_id, int(request.headers.get("content-length") or 0))
    await session.commit()  # hold no connection while receiving
    async with receive(request, settings.home_folder / "uploads", limit) as upload:
        name = upload.fields.get("name") or None
        if name is not None and len(name) > 200:
            raise InvalidInput("`name` is longer than 200 characters.", param="name")
        skip_bad_rows = upload.flag("skip_bad_rows")
        async with inspected(
            upload.path, upload.filename, limit, project=who.project_id, skip_bad_rows=skip_bad_rows
        ) as file:
            report = file.report
            await require_storage(session, who.project_id, report.bytes)  # may be unknown in advance
            await session.commit()
            await objects.keep_file(file.path, sha256=report.sha256, bytes=report.bytes, kind="dataset")
    if (
        stored := await once.begin(
            session, fingerprint(upload.sha256, upload.filename, name or "", "skip" if skip_bad_rows else "")
        )
    ) is not None:
        return stored
    dataset = await service.add(session, who.project_id, report, name, who.name)
    await check_storage(session, who.project_id)
    return await once.finish(session, 201, (await service.view(session, [dataset]))[0])


@router.get("/datasets", operation_id="listDatasets")
async def list_datasets(
    session: Session, who: Reader, limit: Limit = 50, after: str | None = None
) -> Page[Dataset]:
    """All datasets, newest first."""
    datasets, more = await service.page(session, who.project_id, limit=limit, after=after)
    cursor = encode_cursor(datasets[-1].created_at, datasets[-1].id) if more else None
    return Page(data=await service.view(session, datasets), has_more=more, next_cursor=cursor)


@router.get("/datasets/{id}", operation_id="getDataset")
async def get(id: str, response: Response, session: Session, who: Reader) -> Dataset:
    [view] = await service.view(session, [await service.get(session, who.project_id, id)])
    return tagged(view, response)


@router.get("/datasets/{id}/rows", response_model=DatasetRows, operation_id="listDatasetRows")
async def rows(
    id: str,
    request: Request,
    session: Session,
    settings: SettingsDep,
    objects: ObjectsDep,
    who: Reader,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Up to `limit` rows, fewer if their JSON would exceed 4 MiB. CSV columns of numbers become numbers.

    The next page starts at `offset` plus the number of rows returned.
    """
    dataset = await service.get(session, who.project_id, id)
    await session.commit()  # hold no connection while reading
    data: list[bytes] = []
    if offset < dataset.rows:
        cache = service.cache_folder(settings.home_folder)
        work = service.rows(objects, dataset, cache, offset=offset, limit=limit)
        data = await unless_disconnected(request, work)
    frame = orjson.dumps({"object": "list", "offset": offset, "total": dataset.rows})[1:]
    return Response(b'{"data":[%s],%s' % (b",".join(data), frame), media_type="application/json")


@router.get("/datasets/{id}/content", operation_id="downloadDataset", response_class=StreamingResponse)
async def content(id: str, request: Request, session: Session, objects: ObjectsDep, who: Reader) -> Response:
    """The uploaded file, byte for byte except for skipped rows."""
    dataset = await service.get(session, who.project_id, id)
    headers = attachment(dataset.filename) | {"content-length": str(dataset.bytes)}
    return stream_object(
        request,
        objects,
        dataset.sha256,
        etag=dataset.sha256,
        media_type=_MEDIA_TYPES[dataset.format],
        headers=headers,
    )


@router.delete("/datasets/{id}", status_code=204, operation_id="deleteDataset")
async def delete(id: str, session: Session, who: Writer) -> None:
    """Delete a dataset. Refused while an unfinished job needs it."""
    await service.delete(session, who.project_id, id)
