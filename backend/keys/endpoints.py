"""Endpoints of API keys."""

from typing import Annotated

from fastapi import APIRouter, Query

from backend.access.auth import Reader, Writer
from backend.data.database import Session
from backend.http.cursors import encode_cursor
from backend.http.idempotency import OnceWhole
from backend.http.strict_json import StrictRoute
from backend.keys import service
from reinforge.schemas.common import Page
from reinforge.schemas.keys import ApiKey, ApiKeyCreate, ApiKeyCreated

router = APIRouter(prefix="/api/v1", tags=["project"], route_class=StrictRoute)


@router.get("/keys", operation_id="listApiKeys")
async def list_keys(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[ApiKey]:
    """Keys that are not revoked, newest first; for owners."""
    keys, more = await service.page(session, who, limit=limit, after=after)
    cursor = encode_cursor(keys[-1].created_at, keys[-1].id) if more else None
    return Page(data=[ApiKey.model_validate(key) for key in keys], has_more=more, next_cursor=cursor)


@router.post("/keys", status_code=201, dependencies=[OnceWhole], operation_id="createApiKey")
async def create_key(body: ApiKeyCreate, session: Session, who: Writer) -> ApiKeyCreated:
    """Create a key. Only this response contains its secret. For owners."""
    key, secret = await service.create(session, who, body)
    return ApiKeyCreated(**ApiKey.model_validate(key).model_dump(), key=secret)


@router.delete("/keys/{id}", status_code=204, operation_id="revokeApiKey")
async def revoke_key(id: str, session: Session, who: Writer) -> None:
    """Revoke the key and its browser sessions at once. For owners."""
    await service.revoke(session, who, id)


@router.post("/keys/{id}/transfer", dependencies=[OnceWhole], operation_id="transferApiKey")
async def transfer_key(id: str, session: Session, who: Writer) -> ApiKey:
    """Take over another member's key. Removing that member then no longer revokes it, and your rights limit
    it. Its secret stays the same, also for others who have it. For owners.
    """
    return ApiKey.model_validate(await service.transfer(session, who, id))
