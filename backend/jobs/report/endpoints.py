"""Endpoint of a job's report."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from backend.access.auth import Reader
from backend.data.database import Session
from backend.http.downloads import attachment
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.jobs.report.content import read
from backend.jobs.report.document import POLICY, document
from backend.rpc.broker import BrokerDep

router = APIRouter(tags=["jobs"], route_class=StrictRoute)
HEADERS = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "cache-control": "private, no-cache",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


_PAGE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/html": {"example": "<!doctype html><title>sums · Reinforge</title>…"}}}
}


@router.get("/jobs/{id}/report", operation_id="getJobReport", response_class=HTMLResponse, responses=_PAGE)
async def get_report(
    id: str,
    session: Session,
    cache: ObjectCacheDep,
    broker: BrokerDep,
    who: Reader,
    samples: Annotated[int, Query(ge=0, le=50)] = 8,
) -> Response:
    """The job as one HTML file without scripts or network: verdict, charts, held-out table, configuration, notes.

    `samples`: prompts whose completions it contains; 0 for none.
    """
    job = await repository.find(session, who.project_id, id)
    content = await read(session, cache, broker, job, samples=samples)
    html = await to_thread.run_sync(document, content)
    return HTMLResponse(html, headers=HEADERS | attachment(f"{content.job.name}.html"))
