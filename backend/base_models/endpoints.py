"""POST, GET /models · GET /models/{id}."""

from typing import Annotated

from fastapi import APIRouter, Query

from backend.auth import Reader, Writer
from backend.base_models import service
from backend.calls import CallsDep
from backend.cursors import encode_cursor
from backend.database import DatabaseDep, Session
from backend.strict_json import StrictRoute
from reinforge.schemas.common import Page
from reinforge.schemas.resources import BaseModelInfo, ModelCreate

router = APIRouter(prefix="/api/v1", tags=["models"], route_class=StrictRoute)


@router.post("/models", status_code=201, operation_id="createModel")
async def create(body: ModelCreate, database: DatabaseDep, calls: CallsDep, who: Writer) -> BaseModelInfo:
    """Have a worker look at a model's files (downloading them first) and add it. Sending it again looks again."""
    return BaseModelInfo.model_validate(await service.add(database, calls, body, who.name))


@router.get("/models", operation_id="listModels")
async def list_models(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[BaseModelInfo]:
    """Newest first."""
    found, more = await service.page(session, limit=limit, after=after)
    cursor = encode_cursor(found[-1].created_at, found[-1].id) if more else None
    return Page(
        data=[BaseModelInfo.model_validate(each) for each in found], has_more=more, next_cursor=cursor
    )


@router.get("/models/{id}", operation_id="getModel")
async def get(id: str, session: Session, who: Reader) -> BaseModelInfo:
    return BaseModelInfo.model_validate(await service.get(session, who.project_id, id))
