"""The reward that a remedy proposes: pays for the declared answer, and withstands the attack on rewards."""

import pytest

from reinforge.diagnosis.reward_remedies import ANSWER_SOURCE
from tests.reinforge.reward_attack.test_attack import attacked
from tests.reinforge.reward_attack.tutorials import SUMS


def graded(completion: str, answer: object) -> float:
    space: dict[str, object] = {}
    exec(ANSWER_SOURCE, space)
    return float(space["grade"]({"output_text": completion}, {"answer": answer}))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("completion", "answer", "reward"),
    [
        ("<answer>42</answer>", "42", 1),
        ("<think>5</think><answer>1,234</answer>", "1234", 1),
        ("17 + 25 is 42.", 42, 1),
        (r"So \boxed{-7}", "-7", 1),
        ("#### 12", "3 · 4 = 12\n#### 12", 1),
        ("Yes.", "yes", 1),
        ("<answer>41</answer><answer>42</answer>", "42", 0),
        ("<answer>41 42</answer>", "42", 0),
        ("42 or 43", "42", 0),
        ("yes and no", "yes", 0),
        ("", "42", 0),
    ],
)
def test_the_declared_answer_is_paid(completion: str, answer: object, reward: float) -> None:
    assert graded(completion, answer) == reward


def test_the_attack_on_rewards_does_not_break_it() -> None:
    report = attacked(ANSWER_SOURCE, SUMS)
    assert [finding.message for finding in report.findings if finding.severity == "high"] == []
