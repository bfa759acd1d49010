"""Endpoints of deployments."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from backend.access.auth import Reader, Writer
from backend.data.database import DatabaseDep, Session, after_commit
from backend.deployments import service
from backend.deployments.serving import Loader
from backend.http.conditional import IfMatch, tagged
from backend.http.cursors import encode_cursor
from backend.http.idempotency import Once, OnceWhole, fingerprint
from backend.http.strict_json import StrictRoute
from backend.models import Deployment
from reinforge.schemas.common import Page
from reinforge.schemas.deployments import DeploymentChange, DeploymentCreate, DeploymentInfo

router = APIRouter(prefix="/api/v1", tags=["deployments"], route_class=StrictRoute)


@router.get("/deployments", operation_id="listDeployments")
async def list_deployments(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[DeploymentInfo]:
    """The project's deployments, newest first."""
    rows, more = await service.page(session, who.project_id, limit=limit, after=after)
    cursor = encode_cursor(rows[-1].created_at, rows[-1].id) if more else None
    return Page(data=await service.views(session, rows), has_more=more, next_cursor=cursor)


@router.post("/deployments", status_code=201, operation_id="createDeployment", response_model=DeploymentInfo)
async def create(
    body: DeploymentCreate, request: Request, session: Session, once: Once, who: Writer
) -> Response:
    """Deploy an adapter, a checkpoint or a base model under a name; a worker starts to load it."""
    request_hash = fingerprint(body.model_dump_json())
    if (stored := await once.begin(session, request_hash)) is not None:
        return stored
    row = await service.create(session, who, body)
    _load(request, session, row)
    return await once.finish(session, 201, await service.view(session, row))


@router.get("/deployments/{id}", operation_id="getDeployment")
async def get(id: str, response: Response, session: Session, who: Reader) -> DeploymentInfo:
    """A deployment, by id or name."""
    return tagged(await service.view(session, await service.get(session, who.project_id, id)), response)


@router.patch("/deployments/{id}", operation_id="changeDeployment")
async def change(
    id: str,
    body: DeploymentChange,
    request: Request,
    response: Response,
    session: Session,
    match: IfMatch,
    who: Writer,
) -> DeploymentInfo:
    """Change the deployed weights; running requests finish with the old weights."""
    row = await service.change(session, who.project_id, id, body, match)
    _load(request, session, row)
    return tagged(await service.view(session, row), response)


@router.post("/deployments/{id}/start", dependencies=[OnceWhole], operation_id="startDeployment")
async def start(id: str, request: Request, session: Session, who: Writer) -> DeploymentInfo:
    """Accept requests again after a stop or a failure. No effect if the deployment is `loading` or `ready`."""
    row = await service.start(session, who.project_id, id)
    _load(request, session, row)
    return await service.view(session, row)


@router.post("/deployments/{id}/stop", response_model=DeploymentInfo, operation_id="stopDeployment")
async def stop(id: str, database: DatabaseDep, who: Writer, once: Once) -> Response:
    """Stop accepting requests. The deployment is `draining` until running requests have ended, then
    `stopped`.
    """
    request_hash = once.request_hash(b"")
    async with database.transaction() as session:
        if (stored := await once.peek(session, request_hash)) is not None:
            return stored
        row = await service.stop(session, who.project_id, id)
    async with database.transaction() as session:
        await service.settle(session, row.id)
    async with database.transaction() as session:
        current = await service.view(session, await service.get(session, who.project_id, row.id))
        return await once.begin(session, request_hash) or await once.finish(session, 200, current)


@router.delete("/deployments/{id}", status_code=204, operation_id="deleteDeployment")
async def delete(id: str, session: Session, who: Writer) -> None:
    """Delete a stopped deployment. The adapter and its job stay."""
    await service.remove(session, who.project_id, id)


def _load(request: Request, session: Session, row: Deployment) -> None:
    loader: Loader = request.app.state.loader
    if row.state != "loading":
        return

    async def begin() -> None:
        loader.start(row)

    after_commit(session, begin)
