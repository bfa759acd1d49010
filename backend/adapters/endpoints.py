"""Endpoints of adapters."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from backend.access.auth import Reader, SettingsDep, Writer
from backend.adapters import service, uploads
from backend.adapters.archive import repack
from backend.base_models import service as base_models
from backend.data.database import Session
from backend.data.objects import ObjectsDep
from backend.http.cursors import encode_cursor
from backend.http.downloads import attachment, stream_object
from backend.http.idempotency import Once, fingerprint
from backend.http.multipart import receive
from backend.http.strict_json import RecordedRoute
from backend.rpc.client import CallsDep
from backend.usage import check_storage, require_storage
from reinforge.base_models.adapter_config import read_adapter_config
from reinforge.schemas.common import Page
from reinforge.schemas.resources import Adapter

router = APIRouter(prefix="/api/v1", tags=["adapters"], route_class=RecordedRoute)
_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["weights", "config", "model"],
                    "properties": {
                        "weights": {"type": "string", "format": "binary"},
                        "config": {"type": "string"},
                        "model": {"type": "string"},
                        "name": {"type": "string"},
                    },
                }
            }
        },
    }
}


@router.get("/adapters", operation_id="listAdapters")
async def list_adapters(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[Adapter]:
    """The project's adapters, newest first."""
    adapters, more = await service.page(session, who.project_id, limit=limit, after=after)
    cursor = encode_cursor(adapters[-1].created_at, adapters[-1].id) if more else None
    return Page(data=await service.views(session, adapters), has_more=more, next_cursor=cursor)


@router.post(
    "/adapters", status_code=201, response_model=Adapter, operation_id="uploadAdapter", openapi_extra=_UPLOAD
)
async def upload(
    request: Request,
    session: Session,
    objects: ObjectsDep,
    calls: CallsDep,
    settings: SettingsDep,
    who: Writer,
    once: Once,
) -> Response:
    """Upload a LoRA adapter in PEFT's format: `weights` is adapter_model.safetensors, `config` the text of
    adapter_config.json. A worker checks that it fits the base model. If not, 422 `unsupported_adapter`,
    `adapter_does_not_fit` or `damaged_weights`.
    """
    await require_storage(session, who.project_id, int(request.headers.get("content-length") or 0))
    await session.commit()  # hold no connection while receiving
    folder = settings.home_folder / "uploads"
    async with receive(request, folder, settings.upload_limit_bytes, part="weights") as body:
        name, lora = uploads.name_of(body.fields), read_adapter_config(body.fields.get("config", ""))
        model = await base_models.get_usable(session, who.project_id, body.fields.get("model", ""))
        await session.commit()
        async with uploads.archive(body.path, lora, folder) as archive:
            await objects.keep_file(archive.path, sha256=archive.sha256, bytes=archive.bytes, kind="adapter")
    await uploads.check(calls.of_project(who.project_id), model, archive)
    key = fingerprint(archive.sha256, name, model.key)
    if (stored := await once.begin(session, key)) is not None:
        return stored
    adapter = await uploads.add(session, who.project_id, model, name, lora, archive)
    await check_storage(session, who.project_id)
    return await once.finish(session, 201, (await service.views(session, [adapter]))[0])


@router.get("/adapters/{id}", operation_id="getAdapter")
async def get(id: str, session: Session, who: Reader) -> Adapter:
    [view] = await service.views(session, [await service.get(session, who.project_id, id)])
    return view


@router.delete("/adapters/{id}", status_code=204, operation_id="deleteAdapter")
async def delete(id: str, session: Session, who: Writer) -> None:
    """Delete an adapter. The job that trained it keeps its checkpoints; deployments that serve it and jobs
    that started from it continue. Only owners delete adapters of jobs.
    """
    await service.remove(session, who, id)


@router.get("/adapters/{id}/download", operation_id="downloadAdapter", response_class=StreamingResponse)
async def download(id: str, request: Request, session: Session, objects: ObjectsDep, who: Reader) -> Response:
    """A `.tar.gz` with a standard PEFT directory at its top level, for `PeftModel.from_pretrained`."""
    package = await service.download(session, who.project_id, id)
    return stream_object(
        request,
        objects,
        package.sha256,
        etag=package.etag,
        media_type="application/gzip",
        headers=attachment(package.filename),
        transform=lambda stored: repack(stored, package.card),
    )
