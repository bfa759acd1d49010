"""Calls of tools inside what a model has written, in the notation that most open models were trained on.

    <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>

What does not have that form stays text.
"""

import json
import re
from typing import Any

from backend.ids import new_id
from reinforge.schemas.openai_chat import FunctionCall, ToolCall

MARK = "<tool_call>"
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


def split(text: str) -> tuple[str | None, list[ToolCall]]:
    """The text without its calls (None when nothing is left), and the calls in order."""
    calls: list[ToolCall] = []

    def take(match: re.Match[str]) -> str:
        call = _parsed(match[1])
        if call is None:
            return match[0]
        calls.append(call)
        return ""

    rest = _CALL.sub(take, text)
    return (rest.strip() or None if calls else text), calls


class Holder:
    """A stream's text up to where the first call may begin."""

    def __init__(self) -> None:
        self._held = ""

    def push(self, piece: str) -> str:
        """What can be shown now."""
        text = self._held + piece
        place = text.find(MARK)
        if place < 0:
            ends = range(min(len(MARK) - 1, len(text)), 0, -1)
            place = len(text) - next((size for size in ends if MARK.startswith(text[-size:])), 0)
        self._held = text[place:]
        return text[:place]

    def rest(self) -> tuple[str | None, list[ToolCall]]:
        """What was held back, at the end."""
        return split(self._held)


def prepared(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages whose earlier calls have their arguments as objects, as templates expect them."""
    return [
        message | {"tool_calls": [_as_object(call) for call in message["tool_calls"]]}
        if isinstance(message.get("tool_calls"), list)
        else message
        for message in messages
    ]


def _parsed(text: str) -> ToolCall | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters", {}))
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=new_id("call_"), function=FunctionCall(name=value["name"], arguments=written))


def _as_object(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(arguments := function.get("arguments"), str):
        return call
    try:
        parsed = json.loads(arguments)
    except ValueError:
        return call
    return call | {"function": function | {"arguments": parsed}} if isinstance(parsed, dict) else call
