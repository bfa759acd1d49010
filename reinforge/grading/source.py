"""Source of a reward: Python, or a grader's JSON, which begins with `{`."""

import json
from functools import cache
from typing import Any

from pydantic import ValidationError

from reinforge.errors import InvalidInput
from reinforge.grading.errors import FormulaError
from reinforge.grading.multi import GRADER, Grader
from reinforge.parsing.suggestions import fields_at, nearest
from reinforge.parsing.validation import MOST_PROBLEMS

HINT = "docs/rewards.md shows every type's JSON."


@cache
def _schema() -> dict[str, Any]:
    return GRADER.json_schema()


def is_grader(source: str) -> bool:
    return source.lstrip("\ufeff \t\r\n").startswith("{")


def kind_of(source: str) -> str:
    return "grader" if is_grader(source) else "python"


def parse_grader(text: str, param: str | None = None) -> Grader:
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
        details = [_detail(problem, raw, param) for problem in error.errors()[:MOST_PROBLEMS]]
        first, *more = details
        rest = f" (and {error.error_count() - 1} more)" if more else ""
        raise _invalid(first["message"] + rest, param, details=details) from error


def _detail(error: Any, raw: Any, param: str | None) -> dict[str, Any]:
    message = str(error["msg"]).removeprefix("Value error, ")
    field = _field(error, raw, message)
    if error["type"] == "extra_forbidden":
        near = nearest(str(error["loc"][-1]), fields_at(_schema(), error["loc"][:-1]))
        message = f"There is no field {error['loc'][-1]}." + (f" Did you mean {near}?" if near else "")
    return {
        "code": "invalid_grader",
        "message": message if not field or message.startswith(field) else f"{field}: {message}",
        "line": None,
        "column": None,
        "param": param,
        "field": field,
    }


def _field(error: Any, raw: Any, message: str) -> str:
    """Path of the invalid field, such as `input[0].content`."""
    path, at = "", raw
    *steps, last = error["loc"] or ("",)
    for part in (*steps, last):
        inside = part in at if isinstance(at, dict) else isinstance(at, list) and isinstance(part, int)
        if not inside and not (part is last and error["type"] == "missing"):
            continue
        path = f"{path}[{part}]" if isinstance(part, int) else f"{path}.{part}".lstrip(".")
        at = at[part] if inside and not (isinstance(at, list) and part >= len(at)) else None
    if isinstance(at, dict):
        cause = error.get("ctx", {}).get("error")
        named = "calculate_output" if isinstance(cause, FormulaError) else message.split(maxsplit=1)[0]
        if named in at:
            return f"{path}.{named}".lstrip(".")
    return path


def _invalid(
    message: str,
    param: str | None,
    line: int | None = None,
    column: int | None = None,
    details: list[dict[str, Any]] | None = None,
) -> InvalidInput:
    detail = {
        "code": "invalid_grader",
        "message": message,
        "line": line,
        "column": column,
        "param": param,
    }
    return InvalidInput(
        f"The grader is not valid. {message}",
        code="invalid_grader",
        param=param,
        hint=HINT,
        errors=details or [detail],
    )
