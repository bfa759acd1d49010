"""POST /jobs/check · GET /job-form."""

from typing import Annotated, Any

from fastapi import APIRouter, Body

from backend.auth import Reader
from backend.calls import CallsDep
from backend.database import DatabaseDep
from backend.strict_json import StrictRoute
from reinforge.schemas.job_checks import JobCheck, JobForm

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.post("/jobs/check", operation_id="checkJob")
async def check(
    spec: Annotated[dict[str, Any], Body()],
    database: DatabaseDep,
    calls: CallsDep,
    who: Reader,
    quick: bool = False,
) -> JobCheck:
    """Everything wrong with a specification, by field; `quick` leaves out what only a worker can tell."""
    raise NotImplementedError


@router.get("/job-form", operation_id="getJobForm")
async def form(who: Reader) -> JobForm:
    """What a form for jobs is made from."""
    raise NotImplementedError
