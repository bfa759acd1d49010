"""Endpoints for tools: schemas, and calls outside a job."""

from fastapi import APIRouter

from backend.access.auth import Writer
from backend.data.database import DatabaseDep
from backend.http.strict_json import StrictRoute
from backend.rpc.client import CallsDep
from backend.tools import service
from reinforge.schemas.tools import ToolRun, ToolRunResult, ToolsCheck, ToolsCheckResult

router = APIRouter(prefix="/api/v1", tags=["tools"], route_class=StrictRoute)


@router.post("/tools/check", operation_id="checkTools")
async def check(body: ToolsCheck, calls: CallsDep, who: Writer) -> ToolsCheckResult:
    """Schemas that the model reads, or the error with its line. Code is parsed, not run; a worker lists the
    tools of MCP servers.
    """
    return await service.check(calls, who.project_id, body.sources)


@router.post("/tools/run", operation_id="runTools")
async def run(body: ToolRun, database: DatabaseDep, calls: CallsDep, who: Writer) -> ToolRunResult:
    """Run the calls of one turn in a worker's sandbox, as a job does. Nothing is stored."""
    return await service.run(database, calls, who.project_id, body)
