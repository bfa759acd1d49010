"""Parses hidden tests so that their expected values stay outside of the sandbox.

Accepted are the formats of MBPP, HumanEval, APPS and TACO, lists of `{input, output}` or `{call, expected}`,
or their JSON text. Expected values are separated only from `assert call == literal`; other tests run in the
same process as the program, which can fool them.
"""

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reinforge.parsing.python_source import parse
from worker.sandbox.jailed.canonical import NoCanonicalForm, canonical

MAX_TESTS = 512
MAX_PARSED = 64 << 10
MAX_STATEMENTS = 2 * MAX_TESTS
_SETUP = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign
)  # fmt: skip
_UNPARSABLE = (SyntaxError, ValueError, MemoryError, RecursionError)


class UnreadableTests(Exception):
    pass


@dataclass(frozen=True, slots=True)
class HiddenTest:
    """Test with exactly one of `output` (of a script that reads `stdin`), `expected` (canonical values of
    `call`) and `in_process` (source code of a test).
    """

    stdin: str = ""
    output: str | None = None
    call: str | None = None
    expected: tuple[str, ...] | None = None
    loose: bool = False
    in_process: str | None = None
    setup: str = ""


def read_tests(value: object, entry: str | None = None) -> list[HiddenTest]:
    tests = list(_read(value, entry))
    if not 0 < len(tests) <= MAX_TESTS:
        raise UnreadableTests(f"a row must have 1 to {MAX_TESTS} tests, not {len(tests)}")
    return tests


def _read(value: object, entry: str | None) -> Iterator[HiddenTest]:
    if isinstance(value, str):
        decoded = _json(value)
        yield from split(value, entry) if decoded is None else _read(decoded, entry)
    elif isinstance(value, Mapping) and "inputs" in value and "outputs" in value:
        yield from _pairs(value)
    elif isinstance(value, Mapping):
        yield _one(value, entry)
    elif isinstance(value, Sequence):
        for test in value:
            if isinstance(test, str):
                yield from split(test, entry)
            elif isinstance(test, Mapping):
                yield _one(test, entry)
            else:
                raise UnreadableTests(f"a test must be a string or an object, not {type(test).__name__}")
    else:
        raise UnreadableTests(f"tests must be a string, a list or an object, not {type(value).__name__}")


def _json(text: str) -> object | None:
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        decoded: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return decoded


def _one(test: Mapping[str, Any], entry: str | None) -> HiddenTest:
    fields = {key: test[key] for key in test if test[key] is not None}
    if "call" in fields and "expected" in test:  # null is a value that a call may have
        return HiddenTest(call=str(fields["call"]), expected=(_loose(test["expected"]),), loose=True)
    for input_key, output_key in (("input", "output"), ("stdin", "stdout"), ("input", "expected_output")):
        if output_key in fields:
            return HiddenTest(stdin=_lines(fields.get(input_key, "")), output=_lines(fields[output_key]))
    if "test" in fields:
        whole = list(split(str(fields["test"]), entry))
        return whole[0] if len(whole) == 1 else HiddenTest(in_process=str(fields["test"]))
    raise UnreadableTests(
        f"a test must be {{input, output}}, {{call, expected}} or {{test}}, not {{{', '.join(map(str, test))}}}"[
            :300
        ]
    )


def _pairs(tests: Mapping[str, Any]) -> Iterator[HiddenTest]:
    inputs, outputs, name = tests["inputs"], tests["outputs"], tests.get("fn_name")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise UnreadableTests("inputs and outputs must be lists of the same length")
    for argument, output in zip(inputs, outputs, strict=True):
        if name is None:
            yield HiddenTest(stdin=_lines(argument), output=_lines(output))
            continue
        if not str(name).isidentifier() or not isinstance(argument, list):
            raise UnreadableTests("fn_name must be a function's name, and each input a list of its arguments")
        # these datasets wrap some results into a list of one
        inner = output[0] if isinstance(output, list) and len(output) == 1 else output
        expected = dict.fromkeys((_loose(output), _loose(inner)))
        call = f"{name}({', '.join(map(repr, argument))})"
        yield HiddenTest(call=call, expected=tuple(expected), loose=True)


def _lines(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return value if isinstance(value, str) else str(value)


def _loose(value: object) -> str:
    try:
        return canonical(value, loose=True)
    except NoCanonicalForm as error:
        raise UnreadableTests(f"an expected value cannot be compared: {error}") from error


def split(source: str, entry: str | None) -> Iterator[HiddenTest]:
    tree = _parse(source)
    if tree is None:
        yield HiddenTest(in_process=source)
        return
    try:
        statements = _statements(tree, entry)
        if len(statements) > MAX_STATEMENTS:
            yield HiddenTest(in_process=source)
            return
        tests = list(_asserts(statements))
    except RecursionError:  # `ast` parses deeper expressions than it writes
        tests = [HiddenTest(in_process=source)]
    yield from tests


def _statements(tree: ast.Module, entry: str | None) -> list[ast.stmt]:
    statements = [node for node in tree.body if not _calls_check(node)]
    check = next(
        (node for node in statements if isinstance(node, ast.FunctionDef) and node.name == "check"), None
    )
    if check is not None and check.args.args:
        entry = entry or _named_in_call(tree)
        if entry is None or not entry.isidentifier():
            raise UnreadableTests("check(candidate) does not name the function it tests: set `entry`")
        rename = _Rename(check.args.args[0].arg, entry)
        at = statements.index(check)
        statements[at : at + 1] = [rename.visit(node) for node in check.body]
    return statements


@dataclass(frozen=True, slots=True)
class _Statement:
    node: ast.stmt
    names: set[str]
    bound: set[str]


def _asserts(statements: Sequence[ast.stmt]) -> Iterator[HiddenTest]:
    """Yield a test per assert whose call shares no mutable state, and an `in_process` test of all others."""
    setup: list[_Statement] = []
    remaining: list[ast.stmt] = []
    judges = False
    parts = [_Statement(node, _names(node), _bound(node)) for node in statements]
    for part in parts:
        node = part.node
        if isinstance(node, _SETUP):
            setup.append(part)
            remaining.append(node)
            continue
        taken = _taken_apart(node)
        needed = _needed(setup, taken[1]) if taken is not None else []
        state = {name for statement in needed if _may_change(statement.node) for name in statement.bound}
        own = {id(part), *map(id, needed)}
        shared = state and any(state & other.names for other in parts if id(other) not in own)
        if taken is None or shared:
            remaining.append(node)
            judges = judges or any(isinstance(x, ast.Assert | ast.Call | ast.Raise) for x in ast.walk(node))
        else:
            source = _source([statement.node for statement in needed])
            yield HiddenTest(call=taken[0], expected=(taken[2],), setup=source)
    if judges:
        yield HiddenTest(in_process=_source(remaining))


def _taken_apart(node: ast.stmt) -> tuple[str, set[str], str] | None:
    """(call, names it uses, canonical literal) of `assert call == literal`."""
    if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Compare):
        return None
    left, operators, right = node.test.left, node.test.ops, node.test.comparators
    if not isinstance(left, ast.Call) or len(operators) != 1 or not isinstance(operators[0], ast.Eq):
        return None
    try:
        expected = canonical(ast.literal_eval(right[0]))
    except (*_UNPARSABLE, TypeError, NoCanonicalForm):
        return None
    return ast.unparse(left), _names(left), expected


def _needed(setup: Sequence["_Statement"], names: set[str]) -> list["_Statement"]:
    """Statements of the setup that a call depends on, and all imports; others stay outside of the sandbox."""
    chosen: set[int] = set()
    required = set(names)
    for index in reversed(range(len(setup))):
        part = setup[index]
        if isinstance(part.node, ast.Import | ast.ImportFrom):
            chosen.add(index)
        elif required.intersection(part.bound):
            chosen.add(index)
            required |= part.names
    return [setup[index] for index in sorted(chosen)]


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _may_change(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign) and not isinstance(node.value, ast.Constant)


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _calls_check(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check"


def _named_in_call(tree: ast.Module) -> str | None:
    for node in filter(_calls_check, tree.body):
        arguments: Iterable[ast.expr] = node.value.args  # type: ignore[attr-defined]
        for argument in arguments:
            if isinstance(argument, ast.Name):
                return argument.id
    return None


class _Rename(ast.NodeTransformer):
    def __init__(self, before: str, after: str) -> None:
        self._before, self._after = before, after

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id == self._before:
            return ast.copy_location(ast.Name(self._after, node.ctx), node)
        return node


def _source(nodes: Sequence[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, nodes))


def _parse(source: str) -> ast.Module | None:
    if len(source) > MAX_PARSED:
        return None
    try:
        return parse(source)
    except _UNPARSABLE:
        return None
