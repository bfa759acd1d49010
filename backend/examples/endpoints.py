"""Endpoints of the examples."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from backend.access.auth import Reader, Writer
from backend.data.database import Session
from backend.examples import service
from backend.http.strict_json import StrictRoute
from backend.jobs.submission.submit import ServicesDep
from backend.jobs.view import job_detail
from reinforge.schemas.common import Page
from reinforge.schemas.examples import ExampleDetail, ExampleSummary
from reinforge.schemas.jobs import JobDetail

router = APIRouter(prefix="/api/v1", tags=["jobs"], route_class=StrictRoute)

ExampleName = Annotated[str, Path(max_length=64)]


@router.get("/examples", operation_id="listExamples")
async def list_examples(session: Session, who: Reader) -> Page[ExampleSummary]:
    """Examples with data, reward, job file and measured result."""
    return Page(data=await service.summaries(session, who.project_id))


@router.get("/examples/{example}", operation_id="getExample")
async def get_example(example: ExampleName, session: Session, who: Reader) -> ExampleDetail:
    """An example with its README, job file and reward sources."""
    return await service.detail(session, who.project_id, example)


@router.post("/examples/{example}/start", status_code=201, operation_id="startExample")
async def start_example(
    example: ExampleName, response: Response, services: ServicesDep, who: Writer
) -> JobDetail:
    """Create an example's datasets, reward and job; or return (200) its unfinished job.

    Datasets and rewards with the same content are reused. If the job is refused, new ones are deleted.
    """
    job, is_new = await service.ExampleStarter(services).start(example, who.project_id, who.name)
    if not is_new:
        response.status_code = 200
    return job_detail(job)
