"""Endpoint that makes a dataset of a job's best completions."""

from pathlib import Path
from typing import IO

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from backend.access.auth import SettingsDep, Writer
from backend.data.database import Session
from backend.data.objects import ObjectsDep
from backend.datasets import service as datasets
from backend.datasets.uploads.inspection import inspected
from backend.http.idempotency import Once, fingerprint
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.jobs.traces import selection
from backend.usage import check_storage, require_storage
from reinforge.errors import TooLarge
from reinforge.schemas.resources import Dataset
from reinforge.schemas.traces import TraceSelection
from reinforge.storage.base import disk_error, scratch_file

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.post("/jobs/{id}/traces", status_code=201, response_model=Dataset, operation_id="createTraceDataset")
async def create(
    id: str,
    body: TraceSelection,
    request: Request,
    session: Session,
    settings: SettingsDep,
    objects: ObjectsDep,
    cache: ObjectCacheDep,
    who: Writer,
    once: Once,
) -> Response:
    """Make a dataset of each prompt's best distinct completions with a reward of at least `min_reward`.

    Rows have the columns of the job's dataset, `completion`, `completion_prompt` (the messages that the model read),
    `completion_reward` and `completion_step`: for supervised training, or for another job. 422 `no_traces`
    if none matches.
    """
    job = await repository.find(session, who.project_id, id)
    if (stored := await once.peek(session, fingerprint(await request.body()))) is not None:
        return stored
    chosen = await selection.choose(session, job, body)
    name, limit = body.name or f"{job.name}, best completions"[:200], settings.upload_limit_bytes
    with scratch_file(settings.home_folder / "uploads", "traces-") as file:
        async for lines in selection.lines(session, cache, job, chosen, body):
            if file.tell() + len(lines) > limit:
                raise TooLarge(
                    f"The completions take more than {limit:,} bytes.",
                    code="file_too_large",
                    param="limit",
                    hint="Choose fewer: a smaller limit, or a higher min_reward.",
                )
            await anyio.to_thread.run_sync(_append, file, lines)
        await anyio.to_thread.run_sync(_append, file, b"")
        await require_storage(session, who.project_id, file.tell())
        await session.commit()  # hold no connection during the inspection
        async with inspected(
            Path(file.name), f"{job.id}-traces.jsonl", limit, project=who.project_id, skip_bad_rows=False
        ) as checked:
            report = checked.report
            await objects.keep_file(checked.path, sha256=report.sha256, bytes=report.bytes, kind="dataset")
    if (stored := await once.begin(session, fingerprint(await request.body()))) is not None:
        return stored
    dataset = await datasets.add(session, who.project_id, report, name, who.name)
    await check_storage(session, who.project_id)
    return await once.finish(session, 201, (await datasets.view(session, [dataset]))[0])


def _append(file: IO[bytes], lines: bytes) -> None:
    try:
        file.write(lines)
        file.flush()
    except OSError as error:
        raise disk_error(error) from error
