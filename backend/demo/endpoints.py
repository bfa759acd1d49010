"""Endpoint that starts the demo job."""

from fastapi import APIRouter, Response

from backend.access.auth import Writer
from backend.demo.service import DemoStarter
from backend.http.strict_json import StrictRoute
from backend.jobs.submission.submit import ServicesDep
from backend.jobs.view import job_detail
from reinforge.schemas.jobs import JobDetail

router = APIRouter(prefix="/api/v1", tags=["project"], route_class=StrictRoute)


@router.post("/demo", status_code=201, operation_id="startDemo")
async def start_demo(response: Response, services: ServicesDep, who: Writer) -> JobDetail:
    """Create the demo's dataset, reward and job; or return (200) the existing unfinished or succeeded job."""
    job, is_new = await DemoStarter(services).start(who.project_id, who.name)
    if not is_new:
        response.status_code = 200
    return job_detail(job)
