"""Every line of the threat model names a test that is there."""

import ast
import re
from pathlib import Path

from reinforge.parsing.python_source import parse

ROOT = Path(__file__).resolve().parents[2]
THREATS, _, _ = (ROOT / "docs" / "security.md").read_text(encoding="utf-8").partition("## Limits of requests")
LINES = [
    line
    for line in THREATS.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| threat"))
]
NAME = re.compile(r"`((?:tests|frontend/src)/[\w/]+(?:\.test\.ts|\.py))(?:::(test_\w+))?`")


def functions(path: Path) -> set[str]:
    tree = parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_threat_has_a_test() -> None:
    assert len(LINES) > 40
    missing = []
    for line in LINES:
        named = NAME.findall(line.split("|")[-2])
        assert len(named) == 1, line
        path, name = ROOT / named[0][0], named[0][1]
        if not path.is_file() or (name and name not in functions(path)):
            missing.append(f"{named[0][0]}::{name}")
    assert missing == []
