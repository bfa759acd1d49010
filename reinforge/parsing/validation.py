"""Converts pydantic's errors to readable problems."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from reinforge.parsing.locations import dotted
from reinforge.parsing.suggestions import did_you_mean, fields_at

Problem = dict[str, Any]
"""A validation error: `{param, message, code, hint}`."""

_HINTS = {
    "extra_forbidden": "Unknown keys are not allowed: check the spelling, or remove the key.",
    "json_invalid": "The body must be one JSON document in UTF-8.",
}


MOST_PROBLEMS = 50
"""Maximum errors converted, since each costs time."""


def problems(
    errors: Sequence[Mapping[str, Any]], value: Any, schema: Callable[[], Mapping[str, Any]] | None = None
) -> list[Problem]:
    """Convert up to `MOST_PROBLEMS` errors. schema: returns the value's JSON Schema; called at most once."""
    once = None if schema is None else cache(schema)
    return [_problem(error, value, once) for error in errors[:MOST_PROBLEMS]]


def _problem(error: Mapping[str, Any], value: Any, schema: Callable[[], Mapping[str, Any]] | None) -> Problem:
    location, kind = tuple(error["loc"]), str(error["type"])
    named = error.get("ctx", {}).get("param")
    message, hint = str(error["msg"]).removeprefix("Value error, "), _HINTS.get(kind)
    if kind == "extra_forbidden":
        fields = fields_at(schema(), location[:-1]) if schema is not None else []
        message, hint = "No such field.", did_you_mean(str(location[-1]), fields) or hint
    elif kind == "union_tag_not_found":
        message = f"`{_discriminator(error)}` is missing: it says of which kind this value is."
    elif kind == "union_tag_invalid":
        tags = re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected_tags", "")))
        tag = str(error.get("ctx", {}).get("tag", ""))
        message, hint = f"There is no {_discriminator(error)} {tag!r}.", did_you_mean(tag, tags) or hint
    if hint and hint.startswith(("Did you mean", "Known: ")):  # also shown where only the message is
        message, hint = f"{message} {hint}", _HINTS.get(kind)
    return {
        "param": named or dotted(location, value, missing=kind == "missing") or None,
        "message": message,
        "code": kind,
        "hint": hint,
    }


def _discriminator(error: Mapping[str, Any]) -> str:
    name = str(error.get("ctx", {}).get("discriminator", "'type'")).strip("'")
    return name if name.isidentifier() else "type"
