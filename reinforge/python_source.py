"""Python source as a tree."""

import ast

_TRIES = 10


def parse(source: str) -> ast.Module:
    """As `ast.parse`, which Python before 3.11.8 may fail for no fault of the source. Raises SyntaxError, ValueError.

    Those count nesting in one place for all calls under way: a second call, in another thread or in a finalizer that
    runs within the first, makes the first one raise SystemError (python/cpython#106905).
    """
    for _ in range(_TRIES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)
