"""Attacks on the ready rewards for right answers, scored in the sandbox."""

import pytest

from reinforge.reward_attack.attack import attack
from reinforge.reward_attack.rows import AttackRow
from reinforge.reward_library.cases import CaseRow
from reinforge.schemas.jobs import RewardResult
from tests.reinforge.reward_attack.tutorials import CAPITALS, CHOICES, SUMS
from tests.reinforge.reward_library.conftest import Scorer


@pytest.mark.parametrize(
    ("id", "rows"),
    [("numeric", SUMS), ("math_equal", SUMS), ("exact_answer", CAPITALS), ("multiple_choice", CHOICES)],
)
def test_no_wrong_completion_is_paid(id: str, rows: list[AttackRow], scored: Scorer) -> None:
    probes = attack(rows)
    attempts = next(probes)
    while True:
        cases = [(case(rows[attempt.row]), attempt.completion) for attempt in attempts]
        results = [
            RewardResult(name=id, status=result.status, value=result.value, message=result.message)
            for result in scored(id, cases)
        ]
        try:
            attempts = probes.send(results)
        except StopIteration as end:
            report = end.value
            break
    high = [finding.message for finding in report.findings if finding.severity == "high"]
    assert (report.verdict, high) == ("holds", [])


def case(row: AttackRow) -> CaseRow:
    return CaseRow(item=row.item, prompt=row.prompt_text)
