"""Endpoints that list and download checkpoints."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Reader
from backend.adapters import service as adapters
from backend.adapters.archive import repack
from backend.base_models import service as base_models
from backend.data.database import Session
from backend.data.objects import Objects, ObjectsDep
from backend.http.downloads import attachment, stream_object
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.monitoring import verdicts
from backend.jobs.view import checkpoint_view, job_view
from backend.models import Job
from reinforge.diagnosis.verdict import change_at
from reinforge.evaluation.checkpoint_choice import Which, pick_checkpoint
from reinforge.schemas.checkpoints import Checkpoint
from reinforge.schemas.common import Page

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.get("/jobs/{id}/checkpoints", operation_id="listCheckpoints")
async def list_checkpoints(id: str, session: Session, who: Reader) -> Page[Checkpoint]:
    """The three checkpoints with the highest held-out reward, the newest and the final one, newest first."""
    job = await repository.find(session, who.project_id, id)
    return Page(data=await _views(session, job))


@router.get(
    "/jobs/{id}/checkpoints/{step}/download",
    operation_id="downloadCheckpoint",
    response_class=StreamingResponse,
)
async def download_checkpoint(
    id: str,
    step: Annotated[int, Path(ge=0, le=2**53)],
    request: Request,
    session: Session,
    objects: ObjectsDep,
    who: Reader,
) -> Response:
    """The checkpoint's adapter as `.tar.gz` with a standard PEFT directory at its top level."""
    job = await repository.find(session, who.project_id, id)
    return await _archive(session, objects, request, job, step)


@router.get(
    "/jobs/{id}/adapter/download", operation_id="downloadJobAdapter", response_class=StreamingResponse
)
async def download_job_adapter(
    id: str, request: Request, session: Session, objects: ObjectsDep, who: Reader, which: Which = "best"
) -> Response:
    """The adapter of a succeeded job: its best checkpoint, or the final one.

    409 `no_better_checkpoint` when no checkpoint has a higher held-out reward than the base: request
    `which=final` or a step.
    """
    job = await repository.find(session, who.project_id, id)
    chosen = pick_checkpoint(job_view(job), await _views(session, job), which)
    return await _archive(session, objects, request, job, chosen.step)


async def _views(session: AsyncSession, job: Job) -> list[Checkpoint]:
    checkpoints = await repository.checkpoints(session, job.id)
    measured = await verdicts.evidence(session, job, steps=[checkpoint.step for checkpoint in checkpoints])
    return [
        checkpoint_view(checkpoint, job).model_copy(
            update={"held_out_change": change_at(measured, checkpoint.step)}
        )
        for checkpoint in checkpoints
    ]


async def _archive(
    session: AsyncSession, objects: Objects, request: Request, job: Job, step: int
) -> Response:
    checkpoint = await repository.checkpoint(session, job.id, step)
    model = await base_models.of(session, job)
    package = adapters.package(checkpoint, job.name, job, model)
    return stream_object(
        request,
        objects,
        package.sha256,
        etag=package.etag,
        media_type="application/gzip",
        headers=attachment(package.filename),
        transform=lambda stored: repack(stored, package.card),
        caching="private, no-cache",  # after a resume the step may come again with other weights
    )
