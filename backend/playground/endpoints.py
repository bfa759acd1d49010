"""POST /api/v1/sample."""

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from backend.auth import Writer
from backend.calls import CallsDep
from backend.strict_json import StrictRoute
from reinforge.schemas.playground import SampleEvent, SampleRequest

router = APIRouter(prefix="/api/v1", tags=["playground"], route_class=StrictRoute)

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "model": SampleEvent},
}


@router.post("/sample", response_class=StreamingResponse, responses=STREAMED, operation_id="sample")
async def sample(body: SampleRequest, calls: CallsDep, who: Writer) -> Response:
    """Sample completions of a base model or a checkpoint; each `data:` line is a `SampleEvent`."""
    raise NotImplementedError
