"""POST /api/v1/demo."""

from fastapi import APIRouter

from backend.auth import Writer
from backend.strict_json import StrictRoute
from reinforge.schemas.jobs import JobDetail

router = APIRouter(prefix="/api/v1", tags=["project"], route_class=StrictRoute)


@router.post("/demo", status_code=201, operation_id="startDemo")
async def start_demo(who: Writer) -> JobDetail:
    """Create the demo's dataset, reward and job, or return the one that is there already."""
    raise NotImplementedError
