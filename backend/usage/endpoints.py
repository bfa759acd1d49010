"""Endpoints of usage and budgets."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from backend.access.auth import Reader, Writer
from backend.data.database import Session
from backend.http.conditional import IfMatch, tagged
from backend.http.strict_json import StrictRoute
from backend.usage import service
from reinforge.schemas.usage import Budget, BudgetSet, Period, ProjectUsage, UsageKind

router = APIRouter(prefix="/api/v1", tags=["usage"], route_class=StrictRoute)


@router.get("/usage", operation_id="getUsage")
async def get_usage(
    session: Session, who: Reader, days: Annotated[int, Query(ge=1, le=366)] = 30
) -> ProjectUsage:
    """The project's usage by day in UTC and by source, and its budgets."""
    return await service.report(session, who.project_id, days)


@router.put("/budgets", operation_id="setBudget")
async def set_budget(
    body: BudgetSet, response: Response, session: Session, match: IfMatch, who: Writer
) -> Budget:
    """Set a budget. Once exhausted, it stops and refuses jobs, chat, sampling, evaluations and judges that
    use this kind.

    A new budget needs no If-Match. For owners.
    """
    return tagged(await service.set_budget(session, who, body, match), response)


@router.delete("/budgets/{kind}/{period}", status_code=204, operation_id="removeBudget")
async def remove_budget(kind: UsageKind, period: Period, session: Session, who: Writer) -> None:
    """Remove a budget. For owners."""
    await service.remove_budget(session, who, kind, period)
