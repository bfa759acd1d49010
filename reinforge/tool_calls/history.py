"""Converts earlier calls of a conversation for chat templates."""

import json
from typing import Any


def prepared(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace arguments of calls that are JSON strings by the objects they encode."""
    return [
        message | {"tool_calls": [_as_object(call) for call in message["tool_calls"]]}
        if isinstance(message.get("tool_calls"), list)
        else message
        for message in messages
    ]


def _as_object(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(arguments := function.get("arguments"), str):
        return call
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return call
    return call | {"function": function | {"arguments": parsed}} if isinstance(parsed, dict) else call
