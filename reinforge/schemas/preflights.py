"""A pre-flight as the API returns it: a job of a few steps, and the estimates from them."""

from typing import Any, Literal

from reinforge.preflight.report import PreflightReport
from reinforge.schemas.common import Response, Timestamp
from reinforge.schemas.jobs import JobError, Progress
from reinforge.states import JobStatus


class Preflight(Response):
    object: Literal["preflight"] = "preflight"
    id: str
    status: JobStatus
    reason: str | None = None
    error: JobError | None = None
    progress: Progress
    spec: dict[str, Any]
    report: PreflightReport | None = None
    created_at: Timestamp
    finished_at: Timestamp | None = None
