"""No reward that people copy pays for a completion without the right answer."""

import json
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from reinforge.reward_attack.attack import attack
from reinforge.reward_attack.rows import AttackRow, answer_text
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.reward_attack import AttackReport
from tests.examples.test_printed_rewards import ROOT, printed
from tests.reinforge.reward_attack.tutorials import SUMS

ENTRIES = ("grade", "reward_fn")
PARTS = {"def grade(sample, item):\n    return max(0, 1 - len(sample['output_text']) / 400)"}
"""A tenth of the score of the grader around it."""
WITHOUT_A_FORM = {"examples/countdown/reward.py grade"}
"""The answer is a number to reach, and a right completion an expression that no row holds."""
ROWS = 12


def rows_of(place: str) -> list[AttackRow]:
    """Of the example that a reward belongs to; the demo's sums for all others."""
    folder = (ROOT / place).parent
    for name in ("train.jsonl", "additions.jsonl"):
        if place.startswith("examples/") and (folder / name).exists():
            lines = (folder / name).read_text(encoding="utf-8").splitlines()
            items = [json.loads(line) for line in islice(lines, ROWS)]
            return [
                AttackRow(item.get("prompt") or item["messages"], item, answer_text(item["answer"]))
                for item in items
            ]
    return SUMS


def is_passed_on(source: str) -> bool:
    """Whether a reward passes on the number of an environment, which no text of a completion reaches."""
    return "environment_reward" in source


def entries(place: str, source: str) -> dict[str, Callable[[AttackRow, str], float]]:
    """A printed source's rewards by entry: none for excerpts, and for parts of a grader that scores more."""
    if (
        place.startswith(("ready reward", "examples/own-algorithm"))
        or source in PARTS
        or is_passed_on(source)
    ):
        return {}
    try:
        code = compile(source, place, "exec")
    except SyntaxError:
        return {}
    if not any(f"def {entry}(" in source for entry in ENTRIES):
        return {}
    space: dict[str, Any] = {"__name__": "reward"}
    exec(code, space)
    return {name: scorer(name, space[name]) for name in ENTRIES if name in space}


def scorer(name: str, entry: Callable[..., Any]) -> Callable[[AttackRow, str], float]:
    def score(row: AttackRow, text: str) -> float:
        if name == "reward_fn":
            value = entry(row.prompt_text, text, row.item)
        else:
            messages = [{"role": "assistant", "content": text}]
            value = entry({"output_text": text, "messages": messages}, row.item)
        return float(value["score"] if isinstance(value, dict) else value)

    return score


def attacked(score: Callable[[AttackRow, str], float], rows: list[AttackRow]) -> AttackReport:
    probes = attack(rows)
    attempts = next(probes)
    while True:
        results = []
        for attempt in attempts:
            try:
                value, status = score(rows[attempt.row], attempt.completion), "ok"
            except (ArithmeticError, LookupError, TypeError, ValueError):
                value, status = None, "exception"
            results.append(RewardResult(name="reward", status=status, value=value))
        try:
            attempts = probes.send(results)
        except StopIteration as end:
            report: AttackReport = end.value
            return report


REWARDS = {
    f"{place} {entry}": (place, score)
    for place, source in printed().items()
    for entry, score in entries(place, source).items()
}


@pytest.mark.parametrize("name", REWARDS)
def test_no_printed_reward_breaks(name: str) -> None:
    place, score = REWARDS[name]
    report = attacked(score, rows_of(place))
    assert report.verdict == ("unknown" if name in WITHOUT_A_FORM else "holds"), report.message


def test_the_rewards_of_readme_guide_examples_and_page_are_attacked() -> None:
    places = {place.partition("#")[0] for place, _ in REWARDS.values()}
    assert {"README.md", "docs/rewards.md", "docs/agents.md"} <= places
    files = [path for path in (ROOT / "examples").glob("*/reward.py") if not is_passed_on(path.read_text())]
    assert {str(path.relative_to(ROOT)) for path in files} <= places
    assert any(place.startswith("frontend/") for place in places)
