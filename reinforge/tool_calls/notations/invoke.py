"""Calls of Muse: `<atem:function_calls><atem:invoke name="add"><atem:parameter name="a">1…`."""

from typing import Any

from reinforge.tool_calls.base import Notation, ParsedCall, Sections, Tools
from reinforge.tool_calls.notations.messages import messages
from reinforge.tool_calls.notations.tagged import after, between, skip, until
from reinforge.tool_calls.values import schema_of, typed

OPENING, CLOSING = "<atem:function_calls>", "</atem:function_calls>"
INVOKE, END_INVOKE = '<atem:invoke name="', "</atem:invoke>"
PARAMETER, END_PARAMETER = '<atem:parameter name="', "</atem:parameter>"


def _sections(text: str) -> Sections:
    """Split a turn: messages to `self` are reasoning; calls keep their text."""
    content: list[str] = []
    reasoning: list[str] = []
    for header, body in messages(text, ends=("<|eom|>", "<|eot|>")):
        (reasoning if "to=self" in header else content).append(body)
    return Sections("".join(content), "\n".join(reasoning))


def _read(inner: str, raw: str, tools: Tools) -> ParsedCall:
    place = after(inner, INVOKE, 0)
    end = until(inner, '">', place)
    name = inner[place:end]
    if not name:
        raise ValueError("the call has no name")
    arguments: dict[str, Any] = {}
    place = skip(inner, end + 2)
    while not inner.startswith(END_INVOKE, place):
        place = after(inner, PARAMETER, place)
        end = until(inner, '">', place)
        close = until(inner, END_PARAMETER, end + 2)
        key = inner[place:end]
        if not key or key in arguments:
            raise ValueError("a parameter has no name or appears twice")
        arguments[key] = typed(inner[end + 2 : close], schema_of(tools, name, key))
        place = skip(inner, close + len(END_PARAMETER))
    if skip(inner, place + len(END_INVOKE)) < len(inner):
        raise ValueError(f"there is text after {END_INVOKE}")
    return ParsedCall(name, arguments, raw)


INVOKE_XML = Notation(
    "invoke_xml", (OPENING,), _sections, between(OPENING, CLOSING, _read), special_tokens=True
)
