"""Patterns of ours that may need more than linear time, and patterns that are not constants.

A pattern over a user's text must take linear time: a quadratic one in the event loop stops everybody. Reported are

* an unbounded repeat within an unbounded repeat;
* an unbounded repeat of any character, newlines included, with more of the pattern behind it: `a(.*?)b` starts over at
  each `a`;
* two unbounded repeats in a row that can take the same character;
* a pattern that is no constant, which may be a user's.

Write a scanner (`reinforge/parsing/delimited.py`), or say why it is linear or harmless in a comment `# pattern:
REASON` on the line of the call or above it. Code that runs in the sandbox has a time limit there and is left out.
"""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

ROOMS = ("backend", "reinforge", "worker")
IN_THE_SANDBOX = ("reinforge/reward_library/rewards/", "worker/sandbox/jailed/")
CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"}
REASON = re.compile(r"# pattern: \S")

_parser: Any = importlib.import_module("re._parser")
_constants: Any = importlib.import_module("re._constants")
REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT}
SAMPLES = [chr(code) for code in range(128)] + ["é", "\u00a0", "日"]
"""Characters that stand for all: two repeats overlap when both take one of them."""


def faults(pattern: str, flags: int) -> Iterator[str]:
    """What may take more than linear time in a pattern."""
    parsed = _parser.parse(pattern, flags)
    yield from _faults(list(parsed), parsed.state.flags, within=False, is_end=True)


def _faults(items: list[Any], flags: int, *, within: bool, is_end: bool) -> Iterator[str]:
    for number, (operation, argument) in enumerate(items):
        last = is_end and number == len(items) - 1
        if operation in REPEATS:
            _, most, body = argument
            unbounded = most is _constants.MAXREPEAT
            if unbounded and within:
                yield "an unbounded repeat within another"
            if unbounded and not last and flags & re.DOTALL and _is_any(list(body)):
                yield "a repeat of any character with more behind it"
            following = _first_repeat(items[number + 1 :])
            if unbounded and following is not None and _overlap(list(body), following, flags):
                yield "two repeats in a row that take the same character"
            yield from _faults(list(body), flags, within=within or unbounded, is_end=last)
        else:
            for inner in _inner(operation, argument):
                yield from _faults(inner, flags, within=within, is_end=last)


def _inner(operation: Any, argument: Any) -> list[list[Any]]:
    if operation is _constants.SUBPATTERN:
        return [list(argument[3])]
    if operation is _constants.BRANCH:
        return [list(branch) for branch in argument[1]]
    if operation in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [list(argument[1])]
    return []


def _is_any(body: list[Any]) -> bool:
    plain = [item for item in body if item[0] not in (_constants.ASSERT, _constants.ASSERT_NOT)]
    if len(plain) == 1 and plain[0][0] is _constants.SUBPATTERN:
        return _is_any(list(plain[0][1][3]))
    return len(plain) == 1 and plain[0][0] is _constants.ANY


def _first_repeat(items: list[Any]) -> list[Any] | None:
    """The body of the unbounded repeat that the rest of a pattern begins with, groups opened."""
    if not items:
        return None
    operation, argument = items[0]
    if operation in REPEATS:
        least, most, body = argument
        if most is _constants.MAXREPEAT:
            return list(body)
        return _first_repeat(items[1:]) if least == 0 else None
    if operation is _constants.SUBPATTERN:
        return _first_repeat(list(argument[3]))
    return None


def _overlap(one: list[Any], other: list[Any], flags: int) -> bool:
    if len(one) != 1 or len(other) != 1:
        return False
    return any(
        _takes(one[0], character, flags) and _takes(other[0], character, flags) for character in SAMPLES
    )


def _takes(item: Any, character: str, flags: int) -> bool:
    operation, argument = item
    if operation is _constants.ANY:
        return bool(flags & re.DOTALL) or character != "\n"
    if operation is _constants.LITERAL:
        return ord(character) == argument
    if operation is _constants.NOT_LITERAL:
        return ord(character) != argument
    if operation is not _constants.IN:
        return False
    negated = argument[0][0] is _constants.NEGATE
    return any(_in_class(member, character) for member in argument[negated:]) != negated


def _in_class(member: Any, character: str) -> bool:
    operation, argument = member
    if operation is _constants.LITERAL:
        return ord(character) == argument
    if operation is _constants.RANGE:
        return bool(argument[0] <= ord(character) <= argument[1])
    tests = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    name = str(argument).removeprefix("CATEGORY_")
    matches = re.fullmatch(tests[name.removeprefix("NOT_")], character) is not None
    return matches != name.startswith("NOT_")


def problems(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not _is_pattern_call(node) or any(
            REASON.search(line) for line in lines[max(node.lineno - 2, 0) : node.end_lineno]
        ):
            continue
        pattern = node.args[0] if node.args else None
        if not (isinstance(pattern, ast.Constant) and isinstance(pattern.value, str | bytes)):
            yield f"{path}:{node.lineno}: a pattern that is no constant"
            continue
        plain = pattern.value if isinstance(pattern.value, str) else pattern.value.decode("latin-1")
        for fault in dict.fromkeys(faults(plain, _flags(node))):
            yield f"{path}:{node.lineno}: {fault}"


def _is_pattern_call(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in CALLS
    )


def _flags(call: ast.Call) -> int:
    values = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    names = [n.attr for value in values for n in ast.walk(value) if isinstance(n, ast.Attribute)]
    return sum({int(getattr(re, name)) for name in names if hasattr(re, name) and name.isupper()})


def main() -> int:
    command = ["git", "ls-files", "-co", "--exclude-standard", *ROOMS]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    paths = [Path(name) for name in names if name.endswith(".py") and not name.startswith(IN_THE_SANDBOX)]
    messages = [problem for path in paths if path.is_file() for problem in problems(path)]
    print("\n".join(messages) if messages else f"patterns: {len(paths)} files without one that is slow")
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())
