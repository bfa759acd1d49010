"""docs/agents.md: every named test and code of its table of capabilities exists."""

import ast
import re

from reinforge.parsing.python_source import parse
from tests.support.markdown import ROOT, rows, text_of

CAPABILITIES = [
    row for row in rows(text_of(ROOT / "docs" / "agents.md")) if row.section == "Capabilities by environment"
]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
REFUSAL = re.compile(r"refused: `(\w+)`")
SAME = "the same test"
TOPICS = (
    "evaluation of a job", "Pre-flight", "Replay", "Golden cases", "Gate", "Export", "Diagnosis", "Labels",
    "Playground",
)  # fmt: skip


def has_test(file: str, name: str) -> bool:
    tree = parse((ROOT / file).read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)


def test_every_cell_is_a_test_a_refusal_or_says_that_there_is_none() -> None:
    for topic in TOPICS:
        assert any(topic in row.cells[0] for row in CAPABILITIES), topic
    for row in CAPABILITIES:
        assert len(row.cells) == 4
        for cell in row.cells[1:]:
            if cell == SAME:
                assert any(TEST.fullmatch(other) for other in row.cells[1:]), row.cells
            elif match := TEST.fullmatch(cell):
                assert has_test(*match.groups()), cell
            else:
                assert REFUSAL.match(cell) or cell.startswith("not tested: "), cell


def test_codes_of_refusals_are_raised() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "backend").rglob("*.py"))
    codes = {match[1] for row in CAPABILITIES for cell in row.cells if (match := REFUSAL.match(cell))}
    assert codes
    for code in codes:
        assert f'code="{code}"' in source, code
