"""Endpoints of share links, and the page that they lead to."""

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Body, Request
from fastapi.responses import HTMLResponse

from backend.access.auth import Reader, Writer
from backend.data.database import Session
from backend.http.idempotency import OnceWhole
from backend.http.strict_json import StrictRoute
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.jobs.report.content import read
from backend.jobs.report.document import document, notice
from backend.jobs.report.endpoints import HEADERS
from backend.jobs.shares import service
from backend.rpc.broker import BrokerDep
from backend.settings import Settings
from reinforge.errors import NotFound
from reinforge.schemas.job_shares import JobShareCreate, JobShareCreated, JobShareList
from reinforge.states import FINAL

router = APIRouter(tags=["jobs"], route_class=StrictRoute)
page_router = APIRouter(include_in_schema=False)
REFRESH_SECONDS = 30


@router.post("/jobs/{id}/shares", status_code=201, dependencies=[OnceWhole], operation_id="createJobShare")
async def create_share(
    id: str, body: Annotated[JobShareCreate, Body()], request: Request, session: Session, who: Writer
) -> JobShareCreated:
    """Create a link that shows this job without sign-in. Only this response contains the link.

    Everybody who has the link can read the job's verdict, charts, held-out table, configuration and notes;
    with `samples`, also prompts and completions. The link is valid until it expires or is revoked, the job is
    deleted, or the creator may no longer change jobs of the project.
    """
    settings: Settings = request.app.state.settings
    return await service.create(session, who, id, body, settings.url)


@router.get("/jobs/{id}/shares", operation_id="listJobShares")
async def list_shares(id: str, session: Session, who: Reader) -> JobShareList:
    """Share links, newest first, without their secrets."""
    return JobShareList(data=await service.views(session, who.project_id, id))


@router.delete("/jobs/{id}/shares/{share_id}", status_code=204, operation_id="revokeJobShare")
async def revoke_share(id: str, share_id: str, session: Session, who: Writer) -> None:
    """Revoke a link at once."""
    await service.revoke(session, who.project_id, id, share_id)


@page_router.get("/shared/{token}")
async def shared_job(token: str, session: Session, cache: ObjectCacheDep, broker: BrokerDep) -> HTMLResponse:
    """The job's report, for whoever has the link."""
    headers = HEADERS | {"cache-control": "no-store"}
    try:
        share, job = await service.resolve(session, token)
    except NotFound as error:
        return HTMLResponse(notice(error.message, error.hint or ""), 404, headers)
    content = await read(session, cache, broker, job, samples=share.samples)
    refresh = None if job.status in FINAL else REFRESH_SECONDS
    html = await to_thread.run_sync(lambda: document(content, refresh_seconds=refresh))
    return HTMLResponse(html, headers=headers)
