"""Calls of Hermes, Qwen 2.5 and 3: `<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>`."""

from typing import Any

from reinforge.tool_calls.base import Notation, ParsedCall, Tools
from reinforge.tool_calls.notations.tagged import between
from reinforge.tool_calls.reasoning import think_sections
from reinforge.tool_calls.values import json_object


def _read(inner: str, raw: str, tools: Tools) -> ParsedCall:
    return call_of(json_object(inner), raw)


def call_of(value: dict[str, Any], raw: str) -> ParsedCall:
    """Convert `{"name", "arguments"}` or `{"name", "parameters"}` to a call. Raises ValueError."""
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError('the object has no "name"')
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):  # some models write the object as a text
        arguments = json_object(arguments)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise ValueError('"arguments" is not an object')
    return ParsedCall(name, arguments, raw)


HERMES = Notation("hermes", ("<tool_call>",), think_sections, between("<tool_call>", "</tool_call>", _read))
