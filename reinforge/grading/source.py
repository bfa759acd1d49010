"""A reward's text: Python, or a grader's JSON. No Python file that scores anything begins with `{`."""

import json

from pydantic import ValidationError

from reinforge.errors import InvalidInput
from reinforge.grading.multi import GRADER, Grader

HINT = "docs/rewards.md shows every type's JSON."


def is_grader(source: str) -> bool:
    return source.lstrip("\ufeff \t\r\n").startswith("{")


def kind_of(source: str) -> str:
    """`python` or `grader`."""
    return "grader" if is_grader(source) else "python"


def parse_grader(text: str, param: str | None = None) -> Grader:
    """A grader from JSON text. Raises InvalidInput `invalid_grader`; its errors say line and column, or the field."""
    try:
        raw = json.loads(text.lstrip("\ufeff"))
    except ValueError as error:
        line, column = getattr(error, "lineno", None), getattr(error, "colno", None)
        where = f" at line {line}, column {column}" if line else ""
        raise _invalid(
            f"It is not JSON{where}: {getattr(error, 'msg', error)}.", param, line, column
        ) from error
    except RecursionError as error:
        raise _invalid("It is nested too deeply.", param) from error
    try:
        return GRADER.validate_python(raw)
    except ValidationError as error:
        first, *more = error.errors()
        where = ".".join(str(part) for part in first["loc"][1:])
        said = str(first["msg"]).removeprefix("Value error, ")
        rest = f" (and {len(more)} more)" if more else ""
        raise _invalid(f"{where + ': ' if where else ''}{said}{rest}", param) from error


def _invalid(
    message: str, param: str | None, line: int | None = None, column: int | None = None
) -> InvalidInput:
    detail = {
        "code": "invalid_grader",
        "message": message,
        "line": line,
        "column": column,
        "param": param,
    }
    return InvalidInput(
        f"The grader is not valid. {message}", code="invalid_grader", param=param, hint=HINT, errors=[detail]
    )
