"""Llama 3.1 and later: the message is `{"name": "add", "parameters": {"a": 1}}`, calls are joined by `;`."""

from collections.abc import Iterator

from reinforge.tool_calls.base import CallPassage, Notation, ParsedCall, Tools, without_ends
from reinforge.tool_calls.notations.hermes import call_of
from reinforge.tool_calls.notations.tagged import guarded, skip
from reinforge.tool_calls.reasoning import think_sections
from reinforge.tool_calls.values import json_object, json_prefix

PYTHON_TAG = "<|python_tag|>"
PARAMETERS = '"parameters"'


def _passages(text: str, tools: Tools) -> Iterator[CallPassage]:
    """Find calls only if they are the whole message: answers may contain JSON."""
    message = without_ends(text)
    start = skip(message, 0)
    place = start + len(PYTHON_TAG) if message.startswith(PYTHON_TAG, start) else start
    if not message.startswith("{", place) or PARAMETERS not in message:
        return
    while place < len(message):
        try:
            end = json_prefix(message, place)
        except ValueError:
            end = len(message)
        following = skip(message, end)
        if following < len(message) and message[following] != ";":
            end = following = len(message)
        yield CallPassage(start, end, guarded(_read, message[place:end], message[start:end], tools))
        start = place = skip(message, following + 1)


def _read(inner: str, raw: str, tools: Tools) -> ParsedCall:
    value = json_object(inner)
    if not isinstance(value.get("parameters"), dict):
        raise ValueError('the object has no "parameters"')
    return call_of(value, raw)


LLAMA = Notation("llama", (), think_sections, _passages)
