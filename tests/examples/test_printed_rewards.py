"""The rewards that people copy: README, guide, examples, the ready rewards, the page's starters.

A reward that looks for the answer inside the completion (`item["answer"] in sample["output_text"]`) pays "15" where the
answer is 5. No printed reward may teach that.
"""

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.reward_library import library

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
STARTERS = [
    ROOT / "frontend" / "src" / "lib" / "grader-start.ts",
    ROOT / "frontend" / "src" / "components" / "code" / "completion.ts",
]
_ROW = re.compile(r"\b(item|example|answer|expected|reference|target|solution)\b")
_TEXT = re.compile(r"\b(sample|completion|completions|output|output_text|text|given)\b")


def python_of_markdown(text: str) -> Iterator[str]:
    for block in re.findall(r"^[ ]*```python\n(.*?)^[ ]*```", text, re.DOTALL | re.MULTILINE):
        yield textwrap.dedent(block)
    for quoted in re.findall(r'"source": ("(?:[^"\\]|\\.)*")', text):
        yield str(json.loads(quoted))


def python_of_the_page(text: str) -> Iterator[str]:
    """Sources in template literals, with a column's name filled in."""
    for literal in re.findall(r"`([^`]*\bdef [^`]*)`", text):
        filled = re.sub(r"\$\{[^}]*\}", '"answer"', literal)
        yield filled.replace("\\n", "\n") if "\n" not in filled else filled


def printed() -> dict[str, str]:
    """Where it stands → a source."""
    sources: dict[str, str] = {}
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]:
        for number, source in enumerate(python_of_markdown(path.read_text(encoding="utf-8"))):
            sources[f"{path.relative_to(ROOT)}#{number}"] = source
    for path in (ROOT / "examples").rglob("*.py"):
        sources[str(path.relative_to(ROOT))] = path.read_text(encoding="utf-8")
    for path in STARTERS:
        for number, source in enumerate(python_of_the_page(path.read_text(encoding="utf-8"))):
            sources[f"{path.relative_to(ROOT)}#{number}"] = source
    return sources | {
        f"ready reward {reward.id}": reward.source for reward in library() if reward.type == "python"
    }


def contained_answers(source: str) -> list[str]:
    """Comparisons that look for something of the row inside of something that the model wrote."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # an excerpt
        return re.findall(r"item\[[^\]]*\] in .*", source)
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and any(isinstance(operator, ast.In | ast.NotIn) for operator in node.ops)
        and _ROW.search(ast.unparse(node.left))
        and _TEXT.search(ast.unparse(node.comparators[0]))
    ]


def test_the_readme_prints_the_core_of_the_example() -> None:
    [block] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    example = (ROOT / "examples" / "arithmetic" / "reward.py").read_text(encoding="utf-8")
    assert block.strip() in example
    namespace: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), namespace)
    grade = namespace["grade"]
    scores = {
        text: grade({"output_text": text}, {"answer": "5"})["score"]
        for text in ("<answer>5</answer>", "<answer>15</answer>", "<answer>5 15</answer>", "15", "")
    }
    assert scores == dict.fromkeys(scores, 0.0) | {"<answer>5</answer>": 1.0}


@pytest.mark.parametrize("place", printed())
def test_no_printed_reward_looks_for_the_answer_inside_the_text(place: str) -> None:
    assert contained_answers(printed()[place]) == []


def test_rewards_that_search_for_the_answer_are_detected() -> None:
    assert contained_answers('score = float(item["answer"] in sample["output_text"])')
    assert contained_answers('right = str(item["answer"]) in text')
    assert contained_answers("right = expected not in completion")
    assert not contained_answers('right = "<think>" in text')
    assert not contained_answers('right = text.strip() == item["answer"]')
    places = {place.partition("#")[0] for place in printed()}
    assert {str(path.relative_to(ROOT)) for path in STARTERS[:1]} <= places
    assert {"README.md", "docs/rewards.md", "examples/arithmetic/reward.py"} <= places


def test_the_page_starts_with_a_reward_that_compares_exactly() -> None:
    [source] = python_of_the_page(STARTERS[0].read_text(encoding="utf-8"))
    namespace: dict[str, Any] = {}
    exec(compile(source, "grader-start.ts", "exec"), namespace)
    grade = namespace["grade"]
    for text, score in (
        ("5", 1.0),
        (" 5\n", 1.0),
        ("15", 0.0),
        ("5 15", 0.0),
        ("", 0.0),
        ("so <answer>5</answer>", 1.0),
    ):
        assert grade({"output_text": text}, {"answer": 5})["score"] == score, text
