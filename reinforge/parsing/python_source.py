"""Reads and parses Python source."""

import ast
from pathlib import Path

from reinforge.errors import InvalidInput

_TRIES = 10


def parse(source: str) -> ast.Module:
    """`ast.parse` with retries. Raises SyntaxError, ValueError.

    Before Python 3.11.8 concurrent calls may raise SystemError (python/cpython#106905).
    """
    for _ in range(_TRIES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


def read_source(path: str | Path, param: str | None = None) -> str:
    """Read a source file. Raises InvalidInput if the file is missing, empty or not UTF-8."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {path}.", code="file_not_found", param=param) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{path} cannot be read: line {line} has a byte that is not UTF-8 (0x{error.object[error.start]:02x}).",
            code="file_unreadable",
            param=param,
            hint="Save the file as UTF-8.",
        ) from error
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror}.", code="file_unreadable", param=param
        ) from error
    if not text.strip("\ufeff \t\r\n"):
        raise InvalidInput(
            f"{path} is empty.",
            code="file_empty",
            param=param,
            hint="Write a reward into it, such as `def grade(sample, item): return 1.0`; docs/rewards.md has examples.",
        )
    return text
