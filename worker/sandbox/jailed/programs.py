"""Runs one program that a model wrote: a script, a call expression, or a test in the same process."""

import ast
import builtins
import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from .canonical import NoCanonicalForm, canonical
from .modules import execute, new_module
from .report import Prints, Report
from .values import BadValue

FILE_NAME, TEST_NAME, CALL_NAME = "program.py", "test.py", "call"
_OUTPUT = 9


_SAME = "__same__"


class ProgramExit(Exception):
    pass


def run_program(request: Mapping[str, Any], report: Report) -> None:
    call, test = request["call"], request["test"]
    main = call is None and test is None
    module = new_module("__main__" if main else "program")
    vars(builtins).update(exit=sys.exit, quit=sys.exit)  # scripts expect these from site, which is not loaded
    sys.argv = [FILE_NAME]
    with _streams(report, quiet=not main):
        try:
            execute(request["source"], FILE_NAME, module)
            if test is not None:
                vars(module)[_SAME] = same
                execute(judged_plainly(test), TEST_NAME, module)
            if call is not None:
                value = eval(compile(call, CALL_NAME, "eval", dont_inherit=True), module.__dict__)
                _send(value, request["loose"])
        except SystemExit as end:
            # a program with a test or a call has to run to its end; a script may leave by exit()
            if not main or end.code not in (None, 0):
                raise ProgramExit(f"SystemExit: {str(end.code)[:200]}") from None


@contextlib.contextmanager
def _streams(report: Report, *, quiet: bool) -> Iterator[None]:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    if quiet:
        os.dup2(1, _OUTPUT)
        os.dup2(nowhere, 1)
    os.close(nowhere)
    notes = io.TextIOWrapper(
        Prints(report, fallback=2),  # type: ignore[type-var]
        encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=True,
    )  # fmt: skip
    sys.stdin = io.TextIOWrapper(
        io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8", errors="replace"
    )
    out = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8", errors="replace"
    )
    output = notes if quiet else out
    sys.stdout, sys.stderr = output, notes
    try:
        yield
    finally:
        for stream in (sys.stdout, output):
            with contextlib.suppress(Exception):
                stream.flush()


def same(one: object, other: object) -> bool:
    """Compare two values, ignoring an ``__eq__`` that only one of them defines."""
    try:
        return canonical(one) == canonical(other)
    except NoCanonicalForm:
        return type(one) is type(other) and bool(one == other)


def judged_plainly(test: str) -> str:
    """Rewrite a test so that asserts compare with :func:`same`; unchanged if it cannot be parsed."""
    try:
        tree = ast.parse(test)
    except (SyntaxError, ValueError):
        return test
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            node.test = _Plainly().visit(node.test)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Plainly(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return node
        call = ast.Call(ast.Name(_SAME, ast.Load()), [node.left, node.comparators[0]], [])
        return call if isinstance(node.ops[0], ast.Eq) else ast.UnaryOp(ast.Not(), call)


def _send(value: object, loose: bool) -> None:
    try:
        text = canonical(value, loose=loose).encode()
    except NoCanonicalForm as error:
        raise BadValue(str(error)) from None
    with io.FileIO(_OUTPUT, "w", closefd=False) as pipe:
        view = memoryview(text)
        while view:
            view = view[pipe.write(view) :]
