"""POST /api/v1/demo."""

from fastapi import APIRouter, Request, Response

from backend.access.auth import SettingsDep, Writer
from backend.data.database import DatabaseDep
from backend.data.objects import ObjectsDep
from backend.demo.service import Demo
from backend.http.strict_json import StrictRoute
from backend.jobs.view import job_detail
from backend.rpc.client import CallsDep
from reinforge.schemas.jobs import JobDetail

router = APIRouter(prefix="/api/v1", tags=["project"], route_class=StrictRoute)


@router.post("/demo", status_code=201, operation_id="startDemo")
async def start_demo(
    request: Request,
    response: Response,
    database: DatabaseDep,
    calls: CallsDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Writer,
) -> JobDetail:
    """Create the demo's dataset, reward and job; or return (200) the existing unfinished or succeeded job."""
    demo = Demo(database, calls, objects, settings, request.app.state.wake_ups)
    job, created = await demo.start(who.project_id, who.name)
    if not created:
        response.status_code = 200
    return job_detail(job)
