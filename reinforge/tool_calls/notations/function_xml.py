"""Qwen 3.5 and later, Nemotron 3: `<tool_call><function=add><parameter=a>1</parameter></function></tool_call>`."""

from typing import Any

from reinforge.tool_calls.base import Notation, ParsedCall, Tools
from reinforge.tool_calls.notations.tagged import after, between, skip, until
from reinforge.tool_calls.reasoning import think_sections
from reinforge.tool_calls.values import schema_of, typed

FUNCTION, END_FUNCTION = "<function=", "</function>"
PARAMETER, END_PARAMETER = "<parameter=", "</parameter>"


def _read(inner: str, raw: str, tools: Tools) -> ParsedCall:
    place = after(inner, FUNCTION, 0)
    end = until(inner, ">", place)
    name = inner[place:end].strip()
    if not name:
        raise ValueError("the function has no name")
    arguments: dict[str, Any] = {}
    place = skip(inner, end + 1)
    while not inner.startswith(END_FUNCTION, place):
        place = after(inner, PARAMETER, place)
        end = until(inner, ">", place)
        close = until(inner, END_PARAMETER, end + 1)
        key = inner[place:end].strip()
        if not key or key in arguments:
            raise ValueError("a parameter has no name or appears twice")
        # The notation puts a line break before and behind a value.
        value = inner[end + 1 : close].removeprefix("\n").removesuffix("\n")
        arguments[key] = typed(value, schema_of(tools, name, key))
        place = skip(inner, close + len(END_PARAMETER))
    if skip(inner, place + len(END_FUNCTION)) < len(inner):
        raise ValueError(f"there is text after {END_FUNCTION}")
    return ParsedCall(name, arguments, raw)


FUNCTION_XML = Notation(
    "function_xml", ("<tool_call>",), think_sections, between("<tool_call>", "</tool_call>", _read)
)
