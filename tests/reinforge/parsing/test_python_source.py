import ast
import gc
from typing import Any

import pytest

from reinforge.parsing.python_source import parse

SOURCE = "\n".join(f"value_{number} = [{number}, ({number} + 1) * {number}]" for number in range(400))


def test_a_source_is_a_tree() -> None:
    assert ast.dump(parse(SOURCE)) == ast.dump(ast.parse(SOURCE))


@pytest.mark.parametrize("source", ["def f(:", "f(", "x = '"])
def test_a_syntax_error_is_reported(source: str) -> None:
    with pytest.raises(SyntaxError):
        parse(source)


def test_a_parse_within_a_parse_does_not_fail_it() -> None:
    """As when a finalizer logs an exception: from 3.11 its traceback is told by parsing lines."""
    inner = []

    def collected(phase: str, _: dict[str, Any]) -> None:
        if phase == "start" and len(inner) < 3:
            inner.append(ast.parse("(a + b) * c"))

    threshold = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(50)
    try:
        tree = parse(SOURCE)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(collected)
    assert inner, "nothing was parsed within"
    assert len(tree.body) == 400
