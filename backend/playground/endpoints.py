"""Endpoint that samples completions."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from backend import usage
from backend.access.auth import Writer
from backend.access.quotas import count_stream
from backend.base_models import service as base_models
from backend.data.database import DatabaseDep
from backend.http.strict_json import StrictRoute
from backend.playground import service
from backend.rpc.client import CallsDep
from reinforge.schemas.playground import SampleEvent, SampleRequest

router = APIRouter(prefix="/api/v1", tags=["playground"], route_class=StrictRoute)

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "model": SampleEvent},
}


@router.post("/sample", response_class=StreamingResponse, responses=STREAMED, operation_id="sample")
async def sample(
    body: SampleRequest, request: Request, database: DatabaseDep, calls: CallsDep, who: Writer
) -> Response:
    """Sample completions of a base model or a checkpoint; each `data:` line is a `SampleEvent`.

    Invalid requests are refused before the stream starts; a later failure is sent as the last event.
    """
    count_stream(request)
    await base_models.ensure_builtin(database, calls, body.model)
    async with database.transaction() as session:
        await usage.require_budget(session, who.project_id, usage.SAMPLING)
        sampling = await service.sampling(session, who.project_id, body)
    stream = await service.start(calls, sampling)
    events = service.counted(database, stream, who.project_id, body.checkpoint or body.model)
    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return StreamingResponse(
        service.frames(events, sampling.tools), media_type="text/event-stream", headers=headers
    )
