"""Searches for wrong completions that a reward scores highly."""

from backend.rewards import service
from backend.rewards.service import Account
from backend.rpc.client import Calls
from reinforge.errors import InvalidInput
from reinforge.reward_attack.attack import ProbeAttempt, attack
from reinforge.reward_attack.forms import PLACE
from reinforge.reward_attack.rows import AttackRow, answer_text
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.resources import RewardTest, RewardTestRow
from reinforge.schemas.reward_attack import AttackReport, RewardAttack

MOST_JUDGED_ROWS = 4
_BATCH = 256


async def run(
    calls: Calls,
    source: str,
    entry: str | None,
    granularity: str,
    name: str,
    body: RewardAttack,
    account: Account,
) -> AttackReport:
    """Sets `load_error` if the source does not load. Raises InvalidInput `no_answer_place` if `right` has no
    placeholder, StateConflict `budget_exceeded`.
    """
    if body.right is not None and PLACE not in body.right:
        raise InvalidInput(
            f"`right` has no {PLACE}.",
            code="no_answer_place",
            param="right",
            hint=f"Write a right completion with {PLACE} where the answer stands.",
        )
    judged = bool(service.kinds_of(source))
    most = MOST_JUDGED_ROWS if judged else len(body.rows)
    rows = [
        AttackRow(row.prompt, row.item, answer_text(row.item.get(body.answer))) for row in body.rows[:most]
    ]
    probes = attack(rows, right=body.right, source=source, searching=not judged)
    attempts, jail = next(probes), None
    while True:
        results: list[RewardResult] = []
        for batch in _batches(attempts, granularity):
            test = RewardTest(
                rows=[_row(body, attempt) for attempt in batch], timeout_seconds=body.timeout_seconds
            )
            answer = await service.test(calls, source, entry, granularity, name, test, account)
            if answer.load_error is not None:
                return _not_loaded(answer.load_error, len(rows))
            results += answer.results
            jail = answer.jail or jail
        try:
            attempts = probes.send(results)
        except StopIteration as end:
            report: AttackReport = end.value
            return report.model_copy(update={"jail": jail})


def _row(body: RewardAttack, attempt: ProbeAttempt) -> RewardTestRow:
    row = body.rows[attempt.row]
    return RewardTestRow(completion=attempt.completion, item=row.item, prompt=row.prompt)


def _batches(attempts: list[ProbeAttempt], granularity: str) -> list[list[ProbeAttempt]]:
    groups = [attempts]
    if granularity != "sample":
        rows = dict.fromkeys(attempt.row for attempt in attempts)
        groups = [[attempt for attempt in attempts if attempt.row == row] for row in rows]
    return [group[i : i + _BATCH] for group in groups for i in range(0, len(group), _BATCH)]


def _not_loaded(error: str, rows: int) -> AttackReport:
    return AttackReport(
        verdict="unknown",
        message="The reward does not load.",
        rows=rows,
        completions=0,
        right=None,
        right_value=None,
        findings=[],
        probes=[],
        load_error=error,
    )
