"""Calls of Mistral: `[TOOL_CALLS][{"name": "add", "arguments": {…}}]`, later `[TOOL_CALLS]add[ARGS]{…}`."""

from collections.abc import Iterator

from reinforge.tool_calls.base import CallPassage, Notation, ParsedCall, Tools, refused, without_ends
from reinforge.tool_calls.notations.hermes import call_of
from reinforge.tool_calls.notations.tagged import guarded, skip
from reinforge.tool_calls.reasoning import think_sections
from reinforge.tool_calls.values import json_object, json_value

OPENING, ARGUMENTS, IDENTITY = "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"


def _passages(text: str, tools: Tools) -> Iterator[CallPassage]:
    message = without_ends(text)
    start = message.find(OPENING)
    while start >= 0:
        following = message.find(OPENING, start + len(OPENING))
        end = following if following >= 0 else len(message)
        raw = message[start:end]
        inner = raw[len(OPENING) :]
        for number, call in enumerate(_calls(inner, raw, tools)):
            yield CallPassage(start if number == 0 else end, end, call)
        start = following


def _calls(inner: str, raw: str, tools: Tools) -> list[ParsedCall]:
    if not inner.startswith("[{", skip(inner, 0)):
        return [guarded(_named, inner, raw, tools)]
    calls: list[ParsedCall] = []
    try:
        for value in json_value(inner):
            if not isinstance(value, dict):
                raise ValueError("the list has something that is no object")
            calls.append(call_of(value, raw))
    except ValueError as error:
        return [*calls, refused(raw, f"The call cannot be read: {error}.")]
    return calls


def _named(inner: str, raw: str, tools: Tools) -> ParsedCall:
    name, mark, arguments = inner.partition(ARGUMENTS)
    name = name.partition(IDENTITY)[0].strip()
    if not name or not mark:
        raise ValueError(f"the name or {ARGUMENTS} is missing")
    return ParsedCall(name, json_object(arguments), raw)


MISTRAL = Notation("mistral", (OPENING,), think_sections, _passages, special_tokens=True)
