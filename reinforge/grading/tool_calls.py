"""Tool calls in completions, in the notation of most open models; other text stays text.

<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>
"""

import json
from dataclasses import dataclass
from typing import Any

from reinforge.parsing.delimited import passages

MARK, END = "<tool_call>", "</tool_call>"


@dataclass(frozen=True, slots=True)
class Called:
    name: str
    arguments: str

    def as_openai(self, id: str) -> dict[str, Any]:
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": id, "type": "function", "function": function}


def split(text: str) -> tuple[str | None, list[Called]]:
    calls: list[Called] = []
    pieces: list[str] = []
    end = 0
    for passage in passages(text, MARK, END):
        call = _parsed(passage.inner.strip())
        if call is not None:
            calls.append(call)
            pieces.append(text[end : passage.start])
            end = passage.end
    rest = "".join([*pieces, text[end:]])
    return (rest.strip() or None if calls else text), calls


def prepared(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
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
