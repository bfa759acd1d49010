"""Runs one program a model wrote, in a child of its own.

Three kinds: standard input to standard output; a call expression whose value is written canonically; and a program
followed by a test that judges itself. What a program was expected to give is nowhere in the jail.
"""

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
_OUTPUT = 4
"""Descriptor of the zygote's pipe while the program's own standard output leads nowhere."""


class Ended(Exception):
    """The program left by ``sys.exit`` with something else than success."""


def run_program(request: Mapping[str, Any], report: Report) -> None:
    """Run the program and write what it gives to the zygote's pipe.

    Raises what the program raises, :class:`Ended` and :class:`BadValue`.
    """
    call, test = request["call"], request["test"]
    main = call is None and test is None
    module = new_module("__main__" if main else "program")
    vars(builtins).update(exit=sys.exit, quit=sys.exit)  # site, which scripts count on, is not there
    sys.argv = [FILE_NAME]
    with _streams(report, quiet=not main):
        try:
            execute(request["source"], FILE_NAME, module)
            if test is not None:
                execute(test, TEST_NAME, module)
            if call is not None:
                value = eval(compile(call, CALL_NAME, "eval", dont_inherit=True), module.__dict__)
                _send(value, request["loose"])
        except SystemExit as end:
            # a program that judges itself or is to be called has to come to its end; a script may leave by exit()
            if not main or end.code not in (None, 0):
                raise Ended(f"SystemExit: {str(end.code)[:200]}") from None


@contextlib.contextmanager
def _streams(report: Report, *, quiet: bool) -> Iterator[None]:
    """Standard input from the zygote's pipe; output to it, or into the prints where the program is ``quiet``."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    if quiet:
        os.dup2(1, _OUTPUT)
        os.dup2(nowhere, 1)
    if nowhere > _OUTPUT:
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


def _send(value: object, loose: bool) -> None:
    try:
        text = canonical(value, loose=loose).encode()
    except NoCanonicalForm as error:
        raise BadValue(str(error)) from None
    with io.FileIO(_OUTPUT, "w", closefd=False) as pipe:
        view = memoryview(text)
        while view:
            view = view[pipe.write(view) :]
