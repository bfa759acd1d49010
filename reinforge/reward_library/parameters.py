"""Parameters of a reward: literals assigned to upper-case names at the top level, explained by comments:

LONGEST = 200  # characters; a longer answer is wrong
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from reinforge.errors import InvalidInput
from reinforge.parsing.python_source import parse
from reinforge.schemas.rewards import RewardParameter


def parameters(source: str) -> list[RewardParameter]:
    """Parameters in source order. Raises SyntaxError for invalid Python."""
    lines = source.splitlines()
    return [
        RewardParameter(name=name, default=value, meaning=_comment(lines, node))
        for name, value, node in _assignments(source)
    ]


def fill(source: str, values: Mapping[str, Any]) -> str:
    """The source with the parameters set to `values`. Raises InvalidInput `unknown_parameter`."""
    literals = {name: node for name, _, node in _assignments(source)}
    unknown = sorted(set(values) - set(literals))
    if unknown:
        raise InvalidInput(
            f"The reward has no parameter {unknown[0]!r}.",
            code="unknown_parameter",
            param=unknown[0],
            hint=f"It has: {', '.join(literals) or 'none'}.",
        )
    lines = source.encode().splitlines(keepends=True)  # columns of `ast` count bytes
    for name, value in sorted(values.items(), key=lambda pair: -literals[pair[0]].lineno):
        literal = literals[name]
        first, last = literal.lineno - 1, (literal.end_lineno or literal.lineno) - 1
        before, after = lines[first][: literal.col_offset], lines[last][literal.end_col_offset :]
        lines[first : last + 1] = [before + repr(value).encode() + after]
    return b"".join(lines).decode()


def _assignments(source: str) -> Iterator[tuple[str, Any, ast.expr]]:
    for node in parse(source).body:
        if (
            not isinstance(node, ast.Assign)
            or len(node.targets) != 1
            or not isinstance(node.targets[0], ast.Name)
        ):
            continue
        name = node.targets[0].id
        if not name.isupper():
            continue
        try:
            yield name, ast.literal_eval(node.value), node.value
        except ValueError:  # computed: not a parameter
            continue


def _comment(lines: list[str], literal: ast.expr) -> str:
    last = lines[(literal.end_lineno or literal.lineno) - 1]
    behind = last.encode()[literal.end_col_offset :].decode().strip()
    if behind.startswith("#") and not behind.startswith("# fmt:"):
        return behind.lstrip("# ")
    above: list[str] = []
    for line in reversed(lines[: literal.lineno - 1]):
        if not line.startswith("#"):
            break
        above.insert(0, line.lstrip("# "))
    return " ".join(above)
