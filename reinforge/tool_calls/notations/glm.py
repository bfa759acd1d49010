"""Calls of GLM 4.5: `<tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`."""

from typing import Any

from reinforge.tool_calls.base import Notation, ParsedCall, Tools
from reinforge.tool_calls.notations.tagged import after, between, skip, until
from reinforge.tool_calls.reasoning import think_sections
from reinforge.tool_calls.values import schema_of, typed

KEY, END_KEY = "<arg_key>", "</arg_key>"
VALUE, END_VALUE = "<arg_value>", "</arg_value>"


def _read(inner: str, raw: str, tools: Tools) -> ParsedCall:
    first = inner.find(KEY)
    place = len(inner) if first < 0 else first
    name = inner[:place].strip()
    if not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise ValueError("it does not begin with the function's name")
    arguments: dict[str, Any] = {}
    while place < len(inner):
        place = after(inner, KEY, place)
        close = until(inner, END_KEY, place)
        key = inner[place:close].strip()
        if not key or key in arguments:
            raise ValueError("an argument has no name or appears twice")
        place = after(inner, VALUE, close + len(END_KEY))
        close = until(inner, END_VALUE, place)
        arguments[key] = typed(inner[place:close], schema_of(tools, name, key))
        place = skip(inner, close + len(END_VALUE))
    return ParsedCall(name, arguments, raw)


GLM = Notation("glm", ("<tool_call>",), think_sections, between("<tool_call>", "</tool_call>", _read))
