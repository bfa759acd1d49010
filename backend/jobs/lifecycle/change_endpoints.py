"""Endpoints for changes and checkpoints of a running job."""

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from backend.access.auth import Reader, Writer
from backend.data.database import DatabaseDep, Session
from backend.golden import service as golden
from backend.http.idempotency import Once, OnceWhole
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.lifecycle import changes, commands, transitions
from backend.rewards.service import Account
from backend.rpc.client import CallsDep
from reinforge.schemas.job_changes import (
    ChangeCreate,
    JobChangeList,
    JobChangeView,
    JobCommandView,
    JobSettingList,
    SettingChangeCreate,
)

router = APIRouter(route_class=StrictRoute)


@router.post("/jobs/{id}/changes", status_code=201, response_model=JobChangeView, operation_id="changeJob")
async def change_job(
    id: str,
    body: Annotated[ChangeCreate, Body()],
    request: Request,
    database: DatabaseDep,
    calls: CallsDep,
    who: Writer,
    once: Once,
) -> Response:
    """Change a setting, or a reward's revision if its golden cases pass, from the next step on.

    `step` is null until the trainer has applied the change; a resumed job applies it again at that step.
    """
    request_hash = once.request_hash(await request.body())
    if isinstance(body, SettingChangeCreate):
        async with database.transaction() as session:
            if (stored := await once.begin(session, request_hash)) is not None:
                return stored
            job = await transitions.lock_job(session, id, who.project_id)
            row = await changes.add_setting(session, job, body, who.name)
            return await once.finish(session, 201, changes.view(row))
    async with database.transaction() as session:
        if (stored := await once.peek(session, request_hash)) is not None:
            return stored
        job = await repository.find(session, who.project_id, id)
        position, change = await changes.look_up(session, job, body)
        reward_spec = job.resolved_spec["rewards"][position]
        reward_id = change.revision.partition("@")[0]
        cases = await golden.cases_of(session, reward_id)
    limits = (reward_spec["granularity"], reward_spec["timeout_seconds"]) if change.kind == "python" else ()
    account = Account(who.project_id, reward_id)
    code = golden.GoldenReward(account, change.name, change.source, change.entry, *limits)
    await golden.gate(calls, [(position, code, cases)])
    async with database.transaction() as session:
        if (stored := await once.begin(session, request_hash)) is not None:
            return stored
        row = await changes.add(session, id, change, who.name)
        return await once.finish(session, 201, changes.view(row))


@router.get("/jobs/{id}/changes", operation_id="listJobChanges")
async def list_changes(id: str, session: Session, who: Reader) -> JobChangeList:
    job = await repository.find(session, who.project_id, id)
    return JobChangeList(data=[changes.view(change) for change in await changes.of_job(session, job.id)])


@router.get("/jobs/{id}/settings", operation_id="listJobSettings")
async def list_settings(id: str, session: Session, who: Reader) -> JobSettingList:
    """The settings that can be changed while the job runs, with their current values."""
    job = await repository.find(session, who.project_id, id)
    return JobSettingList(data=await changes.settings(session, job))


@router.post("/jobs/{id}/checkpoint", status_code=202, dependencies=[OnceWhole], operation_id="checkpointJob")
async def checkpoint_job(id: str, session: Session, who: Writer) -> JobCommandView:
    """Request a checkpoint and a resume state after the current step; `step` is null until it is saved.

    A repeated request returns the pending one.
    """
    job = await transitions.lock_job(session, id, who.project_id)
    return commands.view(await commands.ask_for_checkpoint(session, job))
