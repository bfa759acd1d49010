"""Endpoints of pre-flights."""

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Reader, Writer
from backend.data.database import Session
from backend.http.idempotency import Once, OnceWhole
from backend.http.strict_json import StrictRoute
from backend.jobs import service as jobs
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.jobs.submission.submit import Draft, ServicesDep, SpecSubmission, submit
from backend.models import Job
from backend.preflights import service
from reinforge.schemas.preflights import Preflight
from reinforge.spec import JobSpec

router = APIRouter(prefix="/api/v1", tags=["preflights"], route_class=StrictRoute)


@router.post("/preflights", status_code=201, response_model=Preflight, operation_id="createPreflight")
async def create(
    spec: Annotated[JobSpec, Body()], request: Request, services: ServicesDep, who: Writer, once: Once
) -> Response:
    """Queue a pre-flight: a few steps of this job, without weight updates, to report pass rates and costs.

    It is validated like a new job, with the same errors.
    """
    draft = Draft(spec, await request.json(), purpose="preflight")
    return await submit(services, NewPreflight(who, once, once.request_hash(await request.body()), draft))


class NewPreflight(SpecSubmission):
    async def answer(self, session: AsyncSession, job: Job) -> Response:
        return await self._once.finish(session, 201, service.view(job, None))


@router.get("/preflights/{id}", operation_id="getPreflight")
async def get(id: str, session: Session, cache: ObjectCacheDep, who: Reader) -> Preflight:
    """The pre-flight's progress and, once it has ended, its report."""
    job = await service.find(session, who.project_id, id)
    return service.view(job, await service.report(session, cache, job))


@router.post("/preflights/{id}/cancel", dependencies=[OnceWhole], operation_id="cancelPreflight")
async def cancel(id: str, session: Session, who: Writer) -> Preflight:
    await service.find(session, who.project_id, id)
    return service.view(await jobs.cancel(session, who.project_id, id), None)
