"""Parses arguments: JSON, and strings whose type the tool's schema declares."""

import json
import math
from collections.abc import Mapping
from typing import Any

from reinforge.parsing.json_depth import is_deeper
from reinforge.tool_calls.base import DEEPEST, Tools

_WORDS = {"True": True, "False": False, "None": None}


def json_value(text: str) -> Any:
    """Parse JSON. Raises ValueError with a reason for the model."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not valid JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return checked(value)


def checked(value: Any) -> Any:
    """Return the value. Raises ValueError if it cannot be stored and sent as JSON."""
    if is_deeper(value, DEEPEST):
        raise ValueError(_TOO_DEEP)
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it has half of a surrogate pair, which is no character") from None
    except ValueError:
        raise ValueError("it has a number that is not finite or too long") from None
    return value


def json_prefix(text: str, place: int) -> int:
    """Position after the JSON value that begins at `place`. Raises ValueError."""
    try:
        return _DECODER.raw_decode(text, place)[1]
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def json_object(text: str) -> dict[str, Any]:
    """Raises ValueError."""
    value = json_value(text)
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def schema_of(tools: Tools, name: str, parameter: str) -> Mapping[str, Any]:
    """JSON Schema of a tool's parameter; {} if there is none."""
    for tool in tools:
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or function.get("name") != name:
            continue
        value: Any = function
        for key in ("parameters", "properties", parameter):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping) else {}
    return {}


def typed(text: str, schema: Mapping[str, Any]) -> Any:
    """Parse an argument as JSON. Invalid JSON, and strings by schema or JSON, stay as written. Raises
    ValueError if the text cannot be stored.
    """
    if schema.get("type") == "string":
        return checked(text)
    stripped = text.strip()
    if stripped in _WORDS:
        return _WORDS[stripped]
    try:
        value = json_value(stripped)
    except ValueError:
        return checked(text)
    return checked(text) if isinstance(value, str) else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key appears twice in one object")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ValueError(f"the number {digits[:40]}… is too long") from None


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_TOO_DEEP = f"lists and objects are nested more than {DEEPEST} levels deep"
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_integer, parse_constant=_constant
)
