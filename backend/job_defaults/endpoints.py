"""Endpoint that suggests values for a job's fields."""

from typing import Annotated, Any

from fastapi import APIRouter, Body

from backend.access.auth import Reader
from backend.http.strict_json import StrictRoute
from backend.job_defaults import service
from backend.jobs.submission.submit import ServicesDep
from reinforge.schemas.job_defaults import JobDefaults

router = APIRouter(prefix="/api/v1", tags=["jobs"], route_class=StrictRoute)


@router.post("/jobs/defaults", operation_id="suggestJobDefaults")
async def suggest(spec: Annotated[dict[str, Any], Body()], services: ServicesDep, who: Reader) -> JobDefaults:
    """Suggested values for the most important fields of a specification, with reasons, and an estimate of the
    job's duration.

    `model` and `data.dataset` are required. Jobs get these values only if you send them.
    """
    return await service.suggest(services, who.project_id, spec)
