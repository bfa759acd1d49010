"""Job validation, part 3: golden cases of stored rewards."""

from backend.data.database import Database
from backend.golden import service as golden
from backend.golden.service import GoldenReward
from backend.jobs.submission.validate_references import JobPlan
from backend.rewards.service import Account
from backend.rpc.client import Calls


async def ask_golden_cases(plan: JobPlan, project_id: str, database: Database, calls: Calls) -> None:
    checked = []
    async with database.transaction() as session:
        for position, (pinned, reward_spec) in enumerate(zip(plan.rewards, plan.spec.rewards, strict=True)):
            if pinned.reward_id is None:
                continue
            limits = (
                (reward_spec.granularity, reward_spec.timeout_seconds) if reward_spec.type == "python" else ()
            )
            account = Account(project_id, pinned.reward_id)
            code = GoldenReward(account, pinned.name, pinned.source, pinned.entry, *limits)
            checked.append((position, code, await golden.cases_of(session, pinned.reward_id)))
    await golden.gate(calls, checked)
