"""Endpoints of sweeps."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response

from backend.access.auth import Reader, SettingsDep, Writer
from backend.data.database import Session
from backend.http.cursors import encode_cursor
from backend.http.idempotency import Once, OnceWhole
from backend.http.strict_json import StrictRoute
from backend.jobs.submission.submit import ServicesDep
from backend.models import SweepRow
from backend.sweeps import repository, results, service
from backend.sweeps.check import check_sweep
from backend.sweeps.validation import validate_sweep
from reinforge.schemas.common import Page
from reinforge.schemas.sweeps import Sweep, SweepCheck, SweepDetail, SweepStatus
from reinforge.sweeps import SweepSpec

router = APIRouter(prefix="/api/v1", tags=["sweeps"], route_class=StrictRoute)


@router.post("/sweeps", status_code=201, response_model=SweepDetail, operation_id="createSweep")
async def create(
    spec: Annotated[SweepSpec, Body()],
    request: Request,
    services: ServicesDep,
    settings: SettingsDep,
    who: Writer,
    once: Once,
) -> Response:
    """Validate a sweep, with a worker's help for its first jobs, and start it. A refused sweep is not stored.

    422 names the parameter at fault, such as `parameters.optimizer.learning_rate`, or the field of `job`.
    """
    request_hash = once.request_hash(await request.body())
    async with services.database.transaction() as session:
        if (stored := await once.peek(session, request_hash)) is not None:
            return stored
    price = settings.gpu_hour_price
    service.require_price(spec, price)
    warnings = [*service.advice(spec), *await validate_sweep(services, who.project_id, spec)]
    async with services.database.transaction() as session:
        if (stored := await once.begin(session, request_hash)) is not None:
            return stored
        row = await service.create(
            session, who.project_id, spec, who.name, gpu_hour_price=price, warnings=warnings
        )
        return await once.finish(session, 201, results.detail(row, []))


@router.post("/sweeps/check", operation_id="checkSweep")
async def check(
    spec: Annotated[dict[str, Any], Body()], session: Session, settings: SettingsDep, who: Reader
) -> SweepCheck:
    """Problems of a sweep by field, the number of its jobs, and the first jobs. Needs no worker and stores
    nothing.
    """
    return await check_sweep(session, who.project_id, spec, settings.gpu_hour_price)


@router.get("/sweeps", operation_id="listSweeps")
async def list_sweeps(
    session: Session,
    who: Reader,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: str | None = None,
    status: SweepStatus | None = None,
) -> Page[Sweep]:
    """The project's sweeps, newest first."""
    rows, more = await repository.page(session, who.project_id, status, limit=limit, after=after)
    trials = await repository.trials(session, [row.id for row in rows])
    cursor = encode_cursor(rows[-1].created_at, rows[-1].id) if more else None
    data = [results.summary(row, trials[row.id]) for row in rows]
    return Page(data=data, has_more=more, next_cursor=cursor)


@router.get("/sweeps/{id}", operation_id="getSweep")
async def get(id: str, session: Session, who: Reader) -> SweepDetail:
    """The sweep with its trials, the best of them, and how much each parameter matters."""
    return await _detail(session, await service.find(session, who.project_id, id))


@router.post("/sweeps/{id}/cancel", dependencies=[OnceWhole], operation_id="cancelSweep")
async def cancel(id: str, session: Session, who: Writer) -> SweepDetail:
    """Cancel a sweep: submit no further trial, and cancel its jobs. It is `cancelling` until they have
    stopped.
    """
    return await _detail(session, await service.cancel(session, who.project_id, id))


@router.delete("/sweeps/{id}", status_code=204, operation_id="deleteSweep")
async def delete(id: str, session: Session, who: Writer) -> None:
    """Delete a sweep that has ended; its jobs stay. Owners only."""
    await service.delete(session, who, id)


async def _detail(session: Session, row: SweepRow) -> SweepDetail:
    return results.detail(row, (await repository.trials(session, [row.id]))[row.id])
