"""Endpoints of evaluations, labels and calibration."""

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Query, Request, Response

from backend import usage
from backend.access.auth import Reader, SettingsDep, Writer
from backend.base_models import service as base_models
from backend.data.database import DatabaseDep, Session
from backend.data.objects import ObjectsDep
from backend.datasets import service as datasets
from backend.evaluations import repository, service, stand_alone
from backend.evaluations.budgets import require_budget
from backend.evaluations.replay import Replayer, look_up
from backend.evaluations.reward_columns import check_columns
from backend.http.cursors import encode_cursor
from backend.http.idempotency import Once, OnceWhole
from backend.http.strict_json import StrictRoute
from backend.jobs import service as jobs
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.rewards import service as rewards
from backend.rpc.client import CallsDep
from reinforge.schemas.common import Page
from reinforge.schemas.evaluations import (
    Calibration,
    EvaluatedCompletions,
    Evaluation,
    EvaluationCreate,
    EvaluationRows,
    LabelList,
    LabelsCreate,
    StandAloneCreate,
)

router = APIRouter(prefix="/api/v1", tags=["evaluations"], route_class=StrictRoute)


@router.post("/evaluations", status_code=201, response_model=Evaluation, operation_id="createEvaluation")
async def create(
    body: Annotated[EvaluationCreate, Body()],
    request: Request,
    database: DatabaseDep,
    calls: CallsDep,
    cache: ObjectCacheDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Writer,
    once: Once,
) -> Response:
    """Start an evaluation of one of two kinds.

    `replay` scores a job's stored completions with another revision of one of its rewards, and compares
    the rewards.
    `stand_alone` samples a base model, an adapter or a checkpoint on a dataset and scores the completions
    with a reward; it continues after a server restart.
    """
    request_hash = once.request_hash(await request.body())
    if isinstance(body, StandAloneCreate):
        if body.model is not None:
            await base_models.ensure_builtin(database, calls, body.model)
        files = datasets.cache_folder(settings.home_folder)
        async with database.transaction() as session:
            if (stored := await once.peek(session, request_hash)) is not None:
                return stored
        await check_columns(database, calls, who.project_id, body)
        async with database.transaction() as session:
            if (stored := await once.begin(session, request_hash)) is not None:
                return stored
            row = await stand_alone.create(session, objects, files, who.project_id, body, who.name)
            await require_budget(session, row)
            view = service.view(row)
            answer = await once.finish(session, 201, view)
        await request.app.state.evaluator.start(view.id)
        return answer
    async with database.transaction() as session:
        if (stored := await once.begin(session, request_hash)) is not None:
            return stored
        job = await jobs.get(session, who.project_id, body.job)
        code = await look_up(session, job, body)
        await usage.require_budget(session, job.project_id, rewards.kinds_of(code.source))
        row = await service.create_replay(session, job, code, body.completions, who.name)
        pass_above = float(job.resolved_spec["evaluation"].get("pass_above", 0.5))
        view = service.view(row)
        answer = await once.finish(session, 201, view)
    state = request.app.state
    if not hasattr(state, "replayer"):
        # Not this request's client, whose calls end with it.
        state.replayer = Replayer(database, state.calls, cache)
    state.replayer.start(view.id, job.id, code, body.completions, pass_above)
    return answer


@router.get("/evaluations", operation_id="listEvaluations")
async def list_evaluations(
    session: Session,
    who: Reader,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: str | None = None,
    job: str | None = None,
    name: str | None = None,
    status: Literal["running", "succeeded", "failed", "cancelled"] | None = None,
    kind: Literal["replay", "stand_alone"] | None = None,
) -> Page[Evaluation]:
    """All evaluations, newest first."""
    filters = {"job_id": job, "name": name, "status": status, "kind": kind}
    evaluations, more = await repository.page(session, who.project_id, filters, limit=limit, after=after)
    cursor = encode_cursor(evaluations[-1].created_at, evaluations[-1].id) if more else None
    return Page(data=[service.view(row) for row in evaluations], has_more=more, next_cursor=cursor)


@router.get("/evaluations/{id}", operation_id="getEvaluation")
async def get(id: str, session: Session, who: Reader) -> Evaluation:
    return service.view(await service.find(session, who.project_id, id))


@router.post("/evaluations/{id}/cancel", dependencies=[OnceWhole], operation_id="cancelEvaluation")
async def cancel(id: str, request: Request, session: Session, who: Writer) -> Evaluation:
    row = await service.find(session, who.project_id, id)
    service.cancel(row)
    view = service.view(row)
    await session.commit()  # the task reads this row when it is cancelled
    if hasattr(request.app.state, "replayer"):
        request.app.state.replayer.cancel(id)
    request.app.state.evaluator.cancel(id)
    return view


@router.post("/evaluations/{id}/resume", response_model=Evaluation, operation_id="resumeEvaluation")
async def resume(id: str, request: Request, database: DatabaseDep, who: Writer, once: Once) -> Response:
    """Continue a failed or cancelled stand-alone evaluation after its last completion."""
    async with database.transaction() as session:
        if (stored := await once.begin(session, once.request_hash(b""))) is not None:
            return stored
        row = await service.find(session, who.project_id, id)
        stand_alone.resume(row)
        await require_budget(session, row)
        answer = await once.finish(session, 200, service.view(row))
    await request.app.state.evaluator.start(id)
    return answer


@router.get("/evaluations/{id}/rows", operation_id="listEvaluationRows")
async def rows(id: str, session: Session, who: Reader) -> EvaluationRows:
    """Rewards of a stand-alone evaluation, by dataset row."""
    row = await service.find(session, who.project_id, id)
    pass_above = float(row.params.get("settings", {}).get("pass_above", 0.5))
    return EvaluationRows(data=await stand_alone.evaluated_rows(session, id), pass_above=pass_above)


@router.get("/evaluations/{id}/completions", operation_id="listEvaluationCompletions")
async def completions(
    id: str,
    session: Session,
    who: Reader,
    row: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=100_000)] = 0,
) -> EvaluatedCompletions:
    """Completions and scores of a stand-alone evaluation, by dataset row."""
    await service.find(session, who.project_id, id)
    page = await stand_alone.completions(session, id, row=row, limit=limit, offset=offset)
    return EvaluatedCompletions(data=page)


@router.get("/jobs/{id}/labels", operation_id="listLabels")
async def labels(id: str, session: Session, who: Reader) -> LabelList:
    return LabelList(data=await service.labels(session, await jobs.get(session, who.project_id, id)))


@router.post("/jobs/{id}/labels", dependencies=[OnceWhole], operation_id="putLabels")
async def put_labels(id: str, body: LabelsCreate, session: Session, who: Writer) -> LabelList:
    """Label stored completions as right or wrong; a later label replaces an earlier one."""
    job = await jobs.get(session, who.project_id, id)
    await service.put_labels(session, job, body.labels, who.name)
    return LabelList(data=await service.labels(session, job))


@router.get("/jobs/{id}/calibration", operation_id="getCalibration")
async def calibration(
    id: str, session: Session, cache: ObjectCacheDep, who: Reader, reward: str | None = None
) -> Calibration:
    """Agreement of one of the job's rewards with the labels, and completions to label next."""
    job = await jobs.get(session, who.project_id, id)
    return await service.calibration(session, cache, job, reward)
