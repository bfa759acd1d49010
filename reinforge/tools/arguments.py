"""Checks a call's arguments against a tool's schema."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reinforge.parsing.json_depth import is_deeper
from reinforge.parsing.suggestions import did_you_mean
from reinforge.tools.schema import ToolSchema

MAX_ARGUMENT_DEPTH = 64
_LONGEST_VALUE = 60


def check_arguments(schema: ToolSchema, arguments: Any) -> str | None:
    """The first problem, as a sentence that a model can act on; None if the call can run.

    Checks the JSON Schema keywords that `schemas_of` writes; tool servers check other keywords themselves.
    """
    if not isinstance(arguments, dict):
        return f"The arguments of {schema.name} are a JSON object, not {_kind(arguments)}."
    if is_deeper(arguments, MAX_ARGUMENT_DEPTH):
        return f"The arguments of {schema.name} are nested more than {MAX_ARGUMENT_DEPTH} levels deep."
    problem = next(_object_problems(schema.function.parameters, arguments, ""), None)
    return problem and f"{schema.name}: {problem}"


def _object_problems(schema: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[str]:
    properties = _mapping(schema.get("properties"))
    for name in _strings(schema.get("required")):
        if name not in value:
            yield f"the argument {_place(path, name)} is missing."
    more = schema.get("additionalProperties", True)
    for name, member in value.items():
        place = _place(path, name)
        if name in properties:
            yield from _problems(properties[name], member, place)
        elif more is False:
            suggestion = did_you_mean(name, properties) or "It takes no arguments."
            yield f"there is no argument {place[:100]}. {suggestion}"
        elif isinstance(more, Mapping):
            yield from _problems(more, member, place)


def _problems(schema: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        return
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{place} is {value}, which is no JSON number."
        return
    members = schema.get("anyOf")
    if isinstance(members, list) and all(any(_problems(member, value, place)) for member in members):
        yield f"{place} is {_text(value)}; expected {' or '.join(filter(None, map(_expected, members)))}."
        return
    enum = schema.get("enum")
    if isinstance(enum, list) and not any(type(value) is type(one) and value == one for one in enum):
        yield f"{place} is {_text(value)}; expected one of {', '.join(map(_text, enum))}."
        return
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else _strings(kinds)
    if names and not any(_TYPES.get(name, _any)(value) for name in names):
        yield f"{place} is {_text(value)}; expected {' or '.join(map(_named, names))}."
    elif isinstance(value, dict):
        yield from _object_problems(schema, value, place)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _problems(schema.get("items"), member, f"{place}[{index}]")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _any(value: Any) -> bool:
    return True


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
_NAMES = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip


def _named(kind: str) -> str:
    return _NAMES.get(kind, kind)


def _expected(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return ""
    if isinstance(enum := schema.get("enum"), list):
        return "one of " + ", ".join(map(_text, enum))
    kind = schema.get("type")
    return _named(kind) if isinstance(kind, str) else ""


def _kind(value: Any) -> str:
    return next((_NAMES[name] for name, fits in _TYPES.items() if fits(value)), type(value).__name__)


def _text(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _place(path: str, name: Any) -> str:
    return f"{path}.{name}" if path else str(name)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _strings(value: Any) -> list[str]:
    return [member for member in value if isinstance(member, str)] if isinstance(value, list) else []
