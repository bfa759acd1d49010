"""Validation of a job, part 3: stored rewards pass their golden cases."""

from backend.data.database import Database
from backend.golden import service as golden
from backend.golden.service import Code
from backend.jobs.submission.validate_references import Plan
from backend.rewards.service import Account
from backend.rpc.client import Calls


async def ask_golden_cases(plan: Plan, project_id: str, database: Database, calls: Calls) -> None:
    """Run the cases of every stored reward of a validated job. Raises InvalidInput `golden_cases_failed`, Unavailable.

    The revision that the job would run is asked, with the job's own entry, granularity and time limit.
    """
    checked = []
    async with database.transaction() as session:
        for position, (pinned, asked) in enumerate(zip(plan.rewards, plan.spec.rewards, strict=True)):
            if pinned.reward_id is None:
                continue
            limits = (asked.granularity, asked.timeout_seconds) if asked.type == "python" else ()
            account = Account(project_id, pinned.reward_id)
            code = Code(account, pinned.name, pinned.source, pinned.entry, *limits)
            checked.append((position, code, await golden.cases_of(session, pinned.reward_id)))
    await golden.gate(calls, checked)
