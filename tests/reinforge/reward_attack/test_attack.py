"""Attacks on rewards that are scored in the test's own process."""

from collections.abc import Callable
from typing import Any

import pytest

from reinforge.reward_attack.attack import attack
from reinforge.reward_attack.rows import AttackRow
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.reward_attack import AttackReport
from tests.reinforge.reward_attack.tutorials import SUMS, TUTORIALS, Tutorial


def attacked(source: str, rows: list[AttackRow], right: str | None = None) -> AttackReport:
    space: dict[str, Any] = {}
    exec(source, space)
    probes = attack(rows, right=right, source=source)
    attempts = next(probes)
    while True:
        results = [scored(space["grade"], rows[attempt.row], attempt.completion) for attempt in attempts]
        try:
            attempts = probes.send(results)
        except StopIteration as end:
            report: AttackReport = end.value
            return report


def scored(grade: Callable[..., float], row: AttackRow, completion: str) -> RewardResult:
    try:
        value = float(grade({"output_text": completion}, row.item))
    except Exception as error:
        return RewardResult(name="reward", status="error", value=None, message=f"{error}")
    return RewardResult(name="reward", status="ok", value=value)


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda tutorial: tutorial.name)
def test_a_tutorial_s_reward_is_broken_and_its_fix_holds(tutorial: Tutorial) -> None:
    report = attacked(tutorial.broken, tutorial.rows, tutorial.right)
    assert report.verdict == "broken"
    assert tutorial.code in {finding.code for finding in report.findings}
    fixed = attacked(tutorial.fixed, tutorial.rows, tutorial.right)
    assert (fixed.verdict, [finding.message for finding in fixed.findings if finding.severity == "high"]) == (
        "holds",
        [],
    )


def test_a_substring_is_reported_with_line_example_and_fix() -> None:
    source = "\ndef grade(sample, item):\n    return float(item['answer'] in sample['output_text'])\n"
    report = attacked(source, SUMS)
    finding = report.findings[0]
    assert (finding.code, finding.line, finding.rows, finding.value) == ("inside_longer", 3, len(SUMS), 1.0)
    assert report.message.startswith(
        "Reward 1 for the answer inside a longer word or number: 12 of 12 rows, line 3."
    )
    assert finding.example.answer is not None
    assert finding.example.answer in finding.example.completion
    assert "substring" in finding.fix


def test_the_form_alone_explains_wrong_answers_in_it() -> None:
    (tutorial,) = [tutorial for tutorial in TUTORIALS if tutorial.name == "half for the tags"]
    report = attacked(tutorial.broken, tutorial.rows)
    assert report.right == "<answer>{answer}</answer>"
    assert [finding.code for finding in report.findings if finding.implied_by is None] == ["no_answer"]


def test_knowing_the_answer_and_denying_it_does_not_break_a_reward() -> None:
    source = (
        "import re\ndef grade(sample, item):\n"
        "    numbers = re.findall(r'\\d+', sample['output_text'])\n"
        "    return float(numbers[-1:] == [item['answer']])\n"
    )
    report = attacked(source, SUMS)
    assert (report.verdict, [finding.code for finding in report.findings]) == ("holds", ["denied"])


def test_errors_are_reported_and_pay_nothing() -> None:
    source = "def grade(sample, item):\n    return float(int(sample['output_text']) == int(item['answer']))\n"
    report = attacked(source, SUMS)
    assert report.verdict == "holds"
    assert any("invalid literal" in (error.reason or "") for error in report.errors)
    assert len(report.errors) <= 5


def test_rows_without_answers_and_forms_that_are_not_paid_are_unknown() -> None:
    length = "def grade(sample, item):\n    return len(sample['output_text']) / 1000\n"
    rows = [AttackRow(row.prompt, {}, None) for row in SUMS]
    report = attacked(length, rows)
    assert (report.verdict, report.right) == ("unknown", None)
    assert "the best paid is many words without an answer" in report.message
    own_form = (
        "def grade(sample, item):\n    return float(sample['output_text'] == f\"!{item['answer']}!\")\n"
    )
    assert attacked(own_form, SUMS).verdict == "unknown"
    assert attacked(own_form, SUMS, "!{answer}!").verdict == "holds"


PARTIAL = """
import re

def grade(sample, item):
    numbers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"])
    if not numbers:
        return 0.0
    return 1.0 if numbers[-1].strip() == item["answer"] else 0.3 * numbers[-1].strip().isdigit()
"""


def test_a_small_reward_of_a_wrong_number_is_named() -> None:
    report = attacked(PARTIAL, SUMS)
    assert (report.verdict, report.findings) == ("holds", [])
    assert "half the reward of a right one" in report.message
    assert "The most is 0.3, for " in report.message
    plain = attacked(PARTIAL.replace("0.3 *", "0 *"), SUMS)
    assert plain.message.startswith("No wrong completion gets a reward: ")


KEYWORDS = """
def grade(sample, item):
    text = sample["output_text"]
    right = text.split("####")[-1].strip() == item["answer"]
    keywords = sum(word in text for word in ("because", "therefore", "verified"))
    return 1.0 * right + 0.2 * keywords
"""


def test_a_search_finds_what_no_probe_is_paid_for() -> None:
    rows = [row for row in SUMS if row.answer is not None]
    report = attacked(KEYWORDS, rows)
    assert report.verdict == "broken"
    [finding] = [finding for finding in report.findings if finding.severity == "high"]
    assert (finding.code, finding.tried) == ("search", 4)
    assert finding.value >= 0.5
    example = finding.example
    assert example.answer is not None
    assert example.answer not in example.completion
    assert any(word in example.completion for word in ("because", "therefore", "verified"))


def test_a_search_is_the_same_each_time_and_stops_when_a_probe_was_paid() -> None:
    assert attacked(KEYWORDS, SUMS) == attacked(KEYWORDS, SUMS)
    broken = attacked(
        "def grade(sample, item):\n    return float(item['answer'] in sample['output_text'])\n", SUMS
    )
    assert "search" not in {probe.code for probe in broken.probes}
