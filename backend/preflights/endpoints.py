"""POST /api/v1/preflights · GET /preflights/{id} · POST /preflights/{id}/cancel."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from backend.access.auth import Reader, SettingsDep, Writer
from backend.base_models import service as base_models
from backend.data.database import DatabaseDep, Session
from backend.data.objects import ObjectsDep
from backend.http.idempotency import Once, OnceWhole
from backend.http.strict_json import StrictRoute
from backend.jobs import service as jobs
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.jobs.submission import validate_references
from backend.jobs.submission.validate_on_worker import ask_workers
from backend.preflights import service
from backend.rpc.client import CallsDep
from reinforge.preflight import probe
from reinforge.schemas.preflights import Preflight
from reinforge.spec import JobSpec

router = APIRouter(prefix="/api/v1", tags=["preflights"], route_class=StrictRoute)


@router.post("/preflights", status_code=201, response_model=Preflight, operation_id="createPreflight")
async def create(
    spec: Annotated[JobSpec, Body()],
    request: Request,
    database: DatabaseDep,
    calls: CallsDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Writer,
    once: Once,
) -> Response:
    """Queue a few steps of this job, without learning, for a report on pass rates and costs.

    Validated like a job that is created, with the same errors.
    """
    request_hash = once.request_hash(await request.body())
    await base_models.ensure_builtin(database, calls, spec.model)
    async with database.transaction() as session:
        if (stored := await once.peek(session, request_hash)) is not None:
            return stored
        plan = await validate_references.look_up(session, who.project_id, spec)
    await ask_workers(plan, calls, objects, jobs.dataset_cache(settings))
    plan.spec = probe(plan.spec)
    raw_spec: dict[str, Any] = await request.json()
    async with database.transaction() as session:
        if (stored := await once.begin(session, request_hash)) is not None:
            return stored
        await validate_references.look_up(session, who.project_id, spec)  # again: may be deleted meanwhile
        job = await jobs.create(
            session, who.project_id, plan, raw_spec, who.name, request.app.state.wake_ups, purpose="preflight"
        )
        return await once.finish(session, 201, service.view(job, None))


@router.get("/preflights/{id}", operation_id="getPreflight")
async def get(id: str, session: Session, cache: ObjectCacheDep, who: Reader) -> Preflight:
    """Its progress and, once it has ended, its report."""
    job = await service.find(session, who.project_id, id)
    return service.view(job, await service.report(session, cache, job))


@router.post("/preflights/{id}/cancel", dependencies=[OnceWhole], operation_id="cancelPreflight")
async def cancel(id: str, session: Session, who: Writer) -> Preflight:
    await service.find(session, who.project_id, id)
    return service.view(await jobs.cancel(session, who.project_id, id), None)
