"""Endpoints of the job form."""

from typing import Annotated, Any

from fastapi import APIRouter, Body

from backend.access.auth import Reader, SettingsDep
from backend.data.database import DatabaseDep
from backend.data.objects import ObjectsDep
from backend.http.strict_json import StrictRoute
from backend.jobs import service
from backend.jobs.submission.check import check_job
from backend.rpc.client import CallsDep
from reinforge.algorithm.plugins import package_of_preset
from reinforge.offline.jobfile import spec_schema
from reinforge.presets import PRESETS, cards
from reinforge.schemas.job_checks import JobCheck, JobForm, Preset

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
    """All problems of a specification, by field; `quick` skips the worker checks."""
    cache = service.dataset_cache(settings)
    return await check_job(spec, who.project_id, database, calls, objects, cache, quick=quick)


@router.get("/job-form", operation_id="getJobForm")
async def form(who: Reader) -> JobForm:
    """Everything a form for jobs needs: choices, defaults and limits."""
    presets = [_card(family, name) for family, members in cards.runnable().items() for name in members]
    return JobForm(json_schema=spec_schema(), presets=presets)


def _card(family: str, name: str) -> Preset:
    preset = PRESETS[name]
    reason = cards.single_turn_refusal(name, preset)
    return Preset(
        id=name,
        title=preset.title,
        family=family,
        package=package_of_preset(name),
        summary=preset.summary,
        formula=preset.formula,
        source=preset.source,
        confidence=preset.confidence,
        deviations=list(preset.deviations),
        learning=preset.learning,
        needs=list(preset.needs),
        algorithm=cards.algorithm_of(name, preset).model_dump(mode="json"),
        job=preset.job,
        recipe=preset.recipe,
        published_rate=preset.published_rate,
        rate_note=cards.rate_note(preset),
        single_turn=reason is None,
        reason=reason,
    )
