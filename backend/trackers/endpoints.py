"""Endpoints of trackers, and of exports of jobs to them."""

from fastapi import APIRouter, Request, Response

from backend.access.auth import Reader, SettingsDep, Writer
from backend.data.database import DatabaseDep, Session
from backend.data.sealing import SealerDep
from backend.http.conditional import IfMatch, tagged
from backend.http.idempotency import Once, OnceWhole
from backend.http.strict_json import StrictRoute
from backend.trackers import service
from reinforge.schemas.common import Page
from reinforge.schemas.trackers import (
    WANDB_URL,
    JobExport,
    JobExportCreate,
    JobExportList,
    Tracker,
    TrackerChange,
    TrackerCreate,
)

router = APIRouter(prefix="/api/v1", tags=["trackers"], route_class=StrictRoute)


@router.get("/trackers", operation_id="listTrackers")
async def list_trackers(session: Session, who: Reader) -> Page[Tracker]:
    """All trackers of the project, by name."""
    return Page(data=await service.all_of(session, who.project_id))


@router.post("/trackers", status_code=201, response_model=Tracker, operation_id="createTracker")
async def create(
    body: TrackerCreate,
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    sealer: SealerDep,
    who: Writer,
    once: Once,
) -> Response:
    """Add a tracker. Its API key is stored encrypted and never returned. For owners."""
    await service.check_address(settings.guard, who, body.url or WANDB_URL)
    async with database.transaction() as session:
        if (stored := await once.begin(session, once.request_hash(await request.body()))) is not None:
            return stored
        return await once.finish(session, 201, service.view(await service.create(session, who, body, sealer)))


@router.get("/trackers/{id}", operation_id="getTracker")
async def get(id: str, response: Response, session: Session, who: Reader) -> Tracker:
    """A tracker, by id or name."""
    return tagged(service.view(await service.get(session, who.project_id, id)), response)


@router.patch("/trackers/{id}", operation_id="changeTracker")
async def change(
    id: str,
    body: TrackerChange,
    response: Response,
    database: DatabaseDep,
    settings: SettingsDep,
    sealer: SealerDep,
    match: IfMatch,
    who: Writer,
) -> Tracker:
    """Change a tracker. Exports that are not done are attempted again at once. For owners."""
    if body.url is not None:
        await service.check_address(settings.guard, who, body.url)
    async with database.transaction() as session:
        return tagged(service.view(await service.change(session, who, id, body, sealer, match)), response)


@router.delete("/trackers/{id}", status_code=204, operation_id="deleteTracker")
async def delete(id: str, session: Session, who: Writer) -> None:
    """Delete a tracker. Exports to it end; its runs stay. For owners."""
    await service.remove(session, who, id)


@router.post("/jobs/{id}/exports", status_code=201, dependencies=[OnceWhole], operation_id="createJobExport")
async def start_export(id: str, body: JobExportCreate, session: Session, who: Writer) -> JobExport:
    """Export the job to a tracker: its metrics as steps arrive, configuration, tags, result and a link back.

    Works for ended jobs, too. If there is an export already, a failed one is attempted again.
    """
    return await service.start_export(session, who, id, body.tracker)


@router.get("/jobs/{id}/exports", operation_id="listJobExports")
async def list_exports(id: str, session: Session, who: Reader) -> JobExportList:
    """Exports of a job, oldest first."""
    return JobExportList(data=await service.exports_of(session, who.project_id, id))


@router.delete("/jobs/{id}/exports/{export_id}", status_code=204, operation_id="deleteJobExport")
async def stop_export(id: str, export_id: str, session: Session, who: Writer) -> None:
    """Stop an export; the run at the tracker stays."""
    await service.stop_export(session, who.project_id, id, export_id)
