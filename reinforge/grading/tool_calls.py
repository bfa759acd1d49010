"""Calls of tools inside what a model has written, in the notation that most open models were trained on.

    <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>

What does not have that form stays text. Chat completions and the `sample` of a reward are made from the same reading.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

MARK = "<tool_call>"
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Called:
    name: str
    arguments: str
    """JSON, as the model wrote it."""

    def shown(self, id: str) -> dict[str, Any]:
        """As a chat completion has it."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": id, "type": "function", "function": function}


def split(text: str) -> tuple[str | None, list[Called]]:
    """The text without its calls (None when nothing is left), and the calls in order."""
    calls: list[Called] = []

    def take(match: re.Match[str]) -> str:
        call = _parsed(match[1])
        if call is None:
            return match[0]
        calls.append(call)
        return ""

    rest = _CALL.sub(take, text)
    return (rest.strip() or None if calls else text), calls


def prepared(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages whose earlier calls have their arguments as objects, as templates expect them."""
    return [
        message | {"tool_calls": [_as_object(call) for call in message["tool_calls"]]}
        if isinstance(message.get("tool_calls"), list)
        else message
        for message in messages
    ]


def _parsed(text: str) -> Called | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters", {}))
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Called(value["name"], written)


def _as_object(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(arguments := function.get("arguments"), str):
        return call
    try:
        parsed = json.loads(arguments)
    except ValueError:
        return call
    return call | {"function": function | {"arguments": parsed}} if isinstance(parsed, dict) else call
