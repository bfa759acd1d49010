"""Endpoints of projects."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from backend.access.auth import Reader, SettingsDep, Writer, cookie_of
from backend.data.database import DatabaseDep, Session
from backend.data.objects import ObjectsDep
from backend.http.conditional import IfMatch, tagged
from backend.http.downloads import attachment
from backend.http.idempotency import OnceWhole
from backend.http.strict_json import StrictRoute
from backend.projects import deletion, export, service
from reinforge.schemas.common import Page
from reinforge.schemas.projects import (
    Project,
    ProjectAccess,
    ProjectCreate,
    ProjectCreated,
    ProjectDelete,
    ProjectUpdate,
)

router = APIRouter(prefix="/api/v1", tags=["project"], route_class=StrictRoute)


@router.get("/project", operation_id="getProject")
async def get_project(response: Response, session: Session, who: Reader) -> Project:
    """The project of the request."""
    return tagged(Project.model_validate(await service.project(session, who)), response)


@router.get("/projects", operation_id="listProjects")
async def list_projects(session: Session, who: Reader) -> Page[ProjectAccess]:
    """Projects of the caller, by name."""
    return Page(data=await service.visible_projects(session, who))


@router.post("/projects", status_code=201, dependencies=[OnceWhole], operation_id="createProject")
async def create_project(body: ProjectCreate, session: Session, who: Writer) -> ProjectCreated:
    """Create a project; the creator becomes its owner. For owners of a project."""
    project, secret = await service.create(session, who, body)
    return ProjectCreated(**Project.model_validate(project).model_dump(), key=secret)


@router.get("/projects/{id}", operation_id="getProjectById")
async def get_by_id(id: str, response: Response, session: Session, who: Reader) -> Project:
    """A project of the caller."""
    return tagged(Project.model_validate(await service.visible(session, who, id)), response)


@router.patch("/projects/{id}", operation_id="renameProject")
async def rename_project(
    id: str, body: ProjectUpdate, response: Response, session: Session, match: IfMatch, who: Writer
) -> Project:
    """Rename a project, or set the report-card conditions that promotions must meet. For owners."""
    return tagged(await service.change(session, who, id, body, match), response)


@router.delete("/projects/{id}", status_code=204, operation_id="deleteProject")
async def delete_project(id: str, body: ProjectDelete, session: Session, who: Writer) -> None:
    """Delete the project with all its data; `name` must be the project's name. For owners.

    409 `project_busy` while a worker has one of its jobs. Files are deleted within about a day.
    """
    await deletion.delete_project(session, who, id, body.name)


@router.post("/projects/{id}/switch", operation_id="switchProject")
async def switch_project(id: str, request: Request, session: Session, who: Reader) -> Project:
    """Switch the browser session to this project."""
    return Project.model_validate(await service.switch(session, who, id, cookie_of(request)))


@router.get("/projects/{id}/export", response_class=StreamingResponse, operation_id="exportProject")
async def export_project(
    id: str, session: Session, database: DatabaseDep, objects: ObjectsDep, settings: SettingsDep, who: Reader
) -> StreamingResponse:
    """A tar of the project's data, for owners.

    It holds datasets, rewards and golden cases; jobs with specification, metrics, completions, events, log,
    labels and checkpoints; evaluations with their completions, adapters, deployments and usage; never
    secrets.
    """
    project = await service.owned(session, who, id)
    pieces = export.archive(database, objects, settings.home_folder / "exports", project.id)
    return StreamingResponse(
        pieces, media_type="application/x-tar", headers=attachment(f"{project.name}.tar")
    )
