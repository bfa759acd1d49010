"""Endpoint that lists the audit log."""

from typing import Annotated

from fastapi import APIRouter, Query

from backend.access.auth import Reader
from backend.audit import service
from backend.data.database import Session
from backend.http.cursors import encode_cursor
from backend.http.strict_json import StrictRoute
from reinforge.schemas.audit import AuditEntry
from reinforge.schemas.common import Page

router = APIRouter(prefix="/api/v1", tags=["audit"], route_class=StrictRoute)


@router.get("/audit", operation_id="listAuditEntries")
async def list_entries(
    session: Session,
    who: Reader,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
    after: str | None = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
) -> Page[AuditEntry]:
    """The audit log, newest entry first; for owners. `q` selects the entries that contain all of its words,
    such as a name, an id, or a part of the operation.
    """
    entries, more = await service.page(session, who, q=q, limit=limit, after=after)
    cursor = encode_cursor(entries[-1].created_at, entries[-1].id) if more else None
    return Page(
        data=[AuditEntry.model_validate(entry) for entry in entries], has_more=more, next_cursor=cursor
    )
