"""POST /jobs/check · GET /job-form."""

from typing import Annotated, Any

from fastapi import APIRouter, Body

from backend.auth import Reader, SettingsDep
from backend.calls import CallsDep
from backend.database import DatabaseDep
from backend.jobs import check as checking
from backend.jobs import service
from backend.objects import ObjectsDep
from backend.strict_json import StrictRoute
from reinforge.algorithm.slots import Algorithm
from reinforge.presets import PRESETS
from reinforge.schemas.job_checks import JobCheck, JobForm, Preset
from reinforge.spec import JobSpec

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.post("/jobs/check", operation_id="checkJob")
async def check(
    spec: Annotated[dict[str, Any], Body()],
    database: DatabaseDep,
    calls: CallsDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Reader,
    quick: bool = False,
) -> JobCheck:
    """Everything wrong with a specification, by field; `quick` leaves out what only a worker can tell."""
    cache = service.dataset_cache(settings)
    return await checking.check(spec, who.project_id, database, calls, objects, cache, quick=quick)


@router.get("/job-form", operation_id="getJobForm")
async def form(who: Reader) -> JobForm:
    """What a form for jobs is made from."""
    presets = [
        Preset(
            id=id,
            title=preset.title,
            summary=preset.summary,
            source=preset.source,
            algorithm=Algorithm.model_validate({"preset": id, **preset.slots}).model_dump(mode="json"),
        )
        for id, preset in PRESETS.items()
    ]
    return JobForm(json_schema=JobSpec.model_json_schema(), presets=presets)
