"""POST, GET /evaluations · GET /evaluations/{id} · POST …/cancel · GET, POST /jobs/{id}/labels · GET …/calibration."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from backend.auth import Reader, Writer
from backend.calls import CallsDep
from backend.cursors import encode_cursor
from backend.database import DatabaseDep, Session
from backend.evaluations import repository, service
from backend.evaluations.replay import Replayer, look_up
from backend.jobs import service as jobs
from backend.jobs.object_cache import ObjectCacheDep
from backend.strict_json import StrictRoute
from reinforge.schemas.common import Page
from reinforge.schemas.evaluations import Calibration, Evaluation, LabelList, LabelsCreate, ReplayCreate

router = APIRouter(prefix="/api/v1", tags=["evaluations"], route_class=StrictRoute)


@router.post("/evaluations", status_code=201, operation_id="createReplay")
async def create(
    body: ReplayCreate,
    request: Request,
    database: DatabaseDep,
    calls: CallsDep,
    cache: ObjectCacheDep,
    who: Writer,
) -> Evaluation:
    """Score a job's stored completions with another revision of one of its rewards, and compare."""
    async with database.transaction() as session:
        job = await jobs.get(session, who.project_id, body.job)
        code = await look_up(session, job, body)
        row = await service.create_replay(session, job, code, body.completions, who.name)
        pass_above = float(job.resolved_spec["evaluation"].get("pass_above", 0.5))
        shown = service.view(row)
    state = request.app.state
    if not hasattr(state, "replayer"):
        state.replayer = Replayer(database, calls, cache)
    state.replayer.start(shown.id, job.id, code, body.completions, pass_above)
    return shown


@router.get("/evaluations", operation_id="listEvaluations")
async def list_evaluations(
    session: Session,
    who: Reader,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: str | None = None,
    job: str | None = None,
) -> Page[Evaluation]:
    """Newest first."""
    found, more = await repository.page(session, who.project_id, job=job, limit=limit, after=after)
    cursor = encode_cursor(found[-1].created_at, found[-1].id) if more else None
    return Page(data=[service.view(each) for each in found], has_more=more, next_cursor=cursor)


@router.get("/evaluations/{id}", operation_id="getEvaluation")
async def get(id: str, session: Session, who: Reader) -> Evaluation:
    return service.view(await service.find(session, who.project_id, id))


@router.post("/evaluations/{id}/cancel", operation_id="cancelEvaluation")
async def cancel(id: str, request: Request, session: Session, who: Writer) -> Evaluation:
    row = await service.find(session, who.project_id, id)
    service.cancel(row)
    if hasattr(request.app.state, "replayer"):
        request.app.state.replayer.cancel(id)
    return service.view(row)


@router.get("/jobs/{id}/labels", operation_id="listLabels")
async def labels(id: str, session: Session, who: Reader) -> LabelList:
    return LabelList(data=await service.labels(session, await jobs.get(session, who.project_id, id)))


@router.post("/jobs/{id}/labels", operation_id="putLabels")
async def put_labels(id: str, body: LabelsCreate, session: Session, who: Writer) -> LabelList:
    """Say of stored completions whether they are right; the last word on each counts."""
    job = await jobs.get(session, who.project_id, id)
    await service.put_labels(session, job, body.labels, who.name)
    return LabelList(data=await service.labels(session, job))


@router.get("/jobs/{id}/calibration", operation_id="getCalibration")
async def calibration(
    id: str, session: Session, cache: ObjectCacheDep, who: Reader, reward: str | None = None
) -> Calibration:
    """How far one of the job's rewards agrees with the labels, and which completions to label next."""
    job = await jobs.get(session, who.project_id, id)
    return await service.calibration(session, cache, job, reward)
