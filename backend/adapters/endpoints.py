"""Adapter endpoints."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from backend.access.auth import Reader
from backend.adapters import service
from backend.adapters.archive import repack
from backend.data.database import Session
from backend.data.objects import ObjectsDep
from backend.http.cursors import encode_cursor
from backend.http.downloads import attachment, stream_object
from reinforge.schemas.common import Page
from reinforge.schemas.resources import Adapter

router = APIRouter(prefix="/api/v1", tags=["adapters"])


@router.get("/adapters", operation_id="listAdapters")
async def list_adapters(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[Adapter]:
    """Newest first."""
    adapters, more = await service.page(session, who.project_id, limit=limit, after=after)
    cursor = encode_cursor(adapters[-1].created_at, adapters[-1].id) if more else None
    return Page(data=await service.views(session, adapters), has_more=more, next_cursor=cursor)


@router.get("/adapters/{id}", operation_id="getAdapter")
async def get(id: str, session: Session, who: Reader) -> Adapter:
    [view] = await service.views(session, [await service.get(session, who.project_id, id)])
    return view


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
