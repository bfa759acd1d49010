"""Endpoint of comparisons."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from backend.access.auth import Reader
from backend.data.database import Session
from backend.http.strict_json import StrictRoute
from backend.jobs.comparison import service
from backend.settings import Settings
from reinforge.schemas.comparison import JobComparison, Moment

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.get("/compare", operation_id="compareJobs")
async def compare_jobs(
    request: Request,
    session: Session,
    who: Reader,
    job: Annotated[list[str], Query(min_length=2, max_length=50)],
    at: Moment = "last",
) -> JobComparison:
    """Compare 2 to 50 jobs with the first one: settings, held-out rewards with intervals, tokens, time, cost.

    Repeat `job` for each. `at`: the newest evaluation, or that of the best checkpoint.
    """
    settings: Settings = request.app.state.settings
    return await service.compare(session, who.project_id, job, at=at, gpu_hour_price=settings.gpu_hour_price)
