"""Endpoints that search for wrong completions with a high reward."""

from fastapi import APIRouter

from backend.access.auth import Writer
from backend.data.database import DatabaseDep
from backend.http.strict_json import StrictRoute
from backend.rewards import attack, service
from backend.rewards.service import Account
from backend.rpc.client import CallsDep
from reinforge.errors import InvalidInput
from reinforge.schemas.resources import written
from reinforge.schemas.reward_attack import AttackReport, RewardAttack

router = APIRouter(prefix="/api/v1", tags=["rewards"], route_class=StrictRoute)


@router.post("/rewards/attack", operation_id="attackRewardSource")
async def attack_source(body: RewardAttack, calls: CallsDep, who: Writer) -> AttackReport:
    """Search for wrong completions that earn reward from code that is not stored."""
    if (body.source is None) == (body.grader is None):
        raise InvalidInput(
            "Give exactly one of `source` and `grader`.",
            param="source",
            hint="POST /rewards/{id}/attack attacks a stored reward.",
        )
    source = written(body.source, body.grader)
    account = Account(who.project_id)
    return await attack.run(calls, source, body.entry, body.granularity, "reward", body, account)


@router.post("/rewards/{id}/attack", operation_id="attackReward")
async def attack_stored(
    id: str, body: RewardAttack, database: DatabaseDep, calls: CallsDep, who: Writer
) -> AttackReport:
    """Search for wrong completions that earn reward from a stored reward's newest revision."""
    if body.source is not None or body.grader is not None:
        raise InvalidInput(
            "`source` and `grader` belong to POST /rewards/attack; this endpoint attacks a stored reward.",
            param="source" if body.source is not None else "grader",
        )
    async with database.transaction() as session:
        reward, revision = await service.get_revision(session, who.project_id, id)
    fields_set = body.model_fields_set
    entry = body.entry if "entry" in fields_set else revision.entry
    granularity = body.granularity if "granularity" in fields_set else reward.granularity
    account = Account(who.project_id, reward.id)
    return await attack.run(calls, revision.source, entry, granularity, reward.name, body, account)
