"""Endpoints of base models."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from backend.access.auth import Reader, Writer
from backend.base_models import service
from backend.base_models.adding import Adder
from backend.data.database import DatabaseDep, Session
from backend.data.sealing import SealerDep
from backend.http.cursors import encode_cursor
from backend.http.idempotency import Once
from backend.http.strict_json import StrictRoute
from backend.rpc.client import CallsDep
from reinforge.schemas.common import Page
from reinforge.schemas.resources import BaseModelInfo, ModelCreate

router = APIRouter(prefix="/api/v1", tags=["models"], route_class=StrictRoute)


@router.post("/models", status_code=201, response_model=BaseModelInfo, operation_id="createModel")
async def create(
    body: ModelCreate,
    request: Request,
    database: DatabaseDep,
    _: CallsDep,  # documents `no_worker`
    sealer: SealerDep,
    who: Writer,
    once: Once,
    wait: bool = True,
) -> Response:
    """Have a worker download, inspect and add a model. Repeating the request inspects the model again.

    The model belongs to the project. Only administrators can inspect a shared model again. `wait=false`
    returns a model with the status `adding` at once; get it again to see the progress.
    """
    request_hash = once.request_hash(await request.body())
    async with database.transaction() as session:
        if (stored := await once.peek(session, request_hash)) is not None:
            return stored
    state = request.app.state
    if not hasattr(state, "adder"):
        state.adder = Adder(database, state.calls)  # not this request's client, whose calls end with it
    model_view = service.view(await service.add(database, state.adder, sealer, body, who, wait=wait))
    async with database.transaction() as session:  # inspection is slow, and repeating it is harmless
        return await once.begin(session, request_hash) or await once.finish(session, 201, model_view)


@router.get("/models", operation_id="listModels")
async def list_models(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[BaseModelInfo]:
    """The project's models and shared models, newest first."""
    models, more = await service.page(session, who.project_id, limit=limit, after=after)
    cursor = encode_cursor(models[-1].created_at, models[-1].key) if more else None
    return Page(data=[service.view(model) for model in models], has_more=more, next_cursor=cursor)


@router.get("/models/{id}", operation_id="getModel")
async def get(id: str, session: Session, who: Reader) -> BaseModelInfo:
    return service.view(await service.get(session, who.project_id, id))


@router.delete("/models/{id}", status_code=204, operation_id="deleteModel")
async def delete(id: str, session: Session, who: Writer) -> None:
    """Delete a model. Refused while a job, an adapter or a deployment needs it. Only administrators delete
    shared models.
    """
    await service.remove(session, who, id)


@router.post("/models/{id}/share", operation_id="shareModel")
async def share(id: str, session: Session, who: Writer) -> BaseModelInfo:
    """Share a model and its hub token with all projects. Administrators only."""
    return service.view(await service.share(session, who, id))
