"""Check that a project has budget left for an evaluation."""

from sqlalchemy.ext.asyncio import AsyncSession

from backend import usage
from backend.evaluations import stand_alone
from backend.models import EvaluationRow
from backend.rewards import service as rewards


async def require_budget(
    session: AsyncSession, row: EvaluationRow, code: stand_alone.ScoringReward | None = None
) -> None:
    code = code or await stand_alone.code_of(session, row)
    await usage.require_budget(session, row.project_id, usage.SAMPLING | rewards.kinds_of(code.source))
