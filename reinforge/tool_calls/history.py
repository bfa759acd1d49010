"""Earlier calls of a conversation, as chat templates read them."""

import json
from typing import Any


def prepared(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages in which arguments of calls that are JSON strings are replaced by their objects."""
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
