"""Endpoints for reward source code."""

from fastapi import APIRouter

from backend.access.auth import Reader, Writer
from backend.http.strict_json import StrictRoute
from backend.rewards import service
from backend.rpc.client import CallsDep
from reinforge.reward_library import library
from reinforge.schemas.common import Page
from reinforge.schemas.rewards import RewardCheck, RewardCheckResult, RewardTemplate

router = APIRouter(prefix="/api/v1", tags=["rewards"], route_class=StrictRoute)


@router.get("/rewards/templates", operation_id="listRewardTemplates")
async def templates(who: Reader) -> Page[RewardTemplate]:
    """Reward templates, by group, the simplest first."""
    return Page(data=list(library()))


@router.post("/rewards/check", operation_id="checkRewardSource")
async def check(body: RewardCheck, calls: CallsDep, who: Writer) -> RewardCheckResult:
    """Load a source in the sandbox; returns its functions, or the error with its line. Nothing is stored."""
    return await service.check(calls, body.source, body.entry)
