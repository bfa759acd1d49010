"""Endpoint of a job's bundle."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from backend.access.auth import Reader, SettingsDep
from backend.data.database import DatabaseDep, Session
from backend.data.objects import ObjectsDep
from backend.http.downloads import attachment
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.bundle import content
from backend.jobs.bundle.parts import BundleOptions
from reinforge.storage.base import scratch_file

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.get("/jobs/{id}/bundle", operation_id="downloadJobBundle", response_class=StreamingResponse)
async def download_bundle(
    id: str,
    session: Session,
    database: DatabaseDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    who: Reader,
    rows: bool = True,
    completions: bool = True,
) -> StreamingResponse:
    """A tar for `reinforge reproduce` to repeat the job; 409 `job_not_ended` until the job has ended or
    is paused.

    The tar has the specification, dataset rows (`rows=false`: only hashes), reward sources, software
    versions, metrics and completions as Parquet, the best and the final checkpoint, and `bundle.json`
    with sizes and SHA-256. Completions contain their prompts. API keys are left out.
    """
    job = await repository.find(session, who.project_id, id)
    bundle = await content.plan(session, job, BundleOptions(rows=rows, completions=completions))
    folder = settings.home_folder / "exports"

    async def body() -> AsyncIterator[bytes]:
        async with AsyncExitStack() as stack:
            metrics = stack.enter_context(scratch_file(folder, "bundle-"))
            async with database.transaction() as reading:
                await content.write_metrics(reading, id, metrics)
            async for piece in content.stream(database, objects, bundle, metrics, folder):
                yield piece

    headers = attachment(f"{job.name}.bundle.tar")
    return StreamingResponse(body(), media_type="application/x-tar", headers=headers)
