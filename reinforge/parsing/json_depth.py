"""Measures the depth and width of JSON without recursion, which fails at some hundreds of levels."""

from typing import Any

DEEPEST = 128
"""Maximum nesting levels in requests and tool calls."""


def is_deeper(value: Any, limit: int = DEEPEST) -> bool:
    """Whether a JSON value has more than `limit` levels of nested objects and lists."""
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > limit:
            return True
        level = [
            child
            for part in level
            for child in (part.values() if isinstance(part, dict) else part)
            if isinstance(child, dict | list)
        ]
    return False


def is_wider(value: Any, limit: int) -> bool:
    """Whether any object in a JSON value has more than `limit` keys."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if len(part) > limit:
                return True
            waiting.extend(child for child in part.values() if isinstance(child, dict | list))
        elif isinstance(part, list):
            waiting.extend(child for child in part if isinstance(child, dict | list))
    return False
