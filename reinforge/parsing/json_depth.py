"""How deep JSON is nested, and how wide it is.

Libraries that walk values recursively give up, or crash, at some hundreds of levels.
"""

from typing import Any

DEEPEST = 128
"""Levels of objects and lists that requests and calls may have; JSON that people write has a dozen."""


def is_deeper(value: Any, limit: int = DEEPEST) -> bool:
    """Whether a JSON value has more levels of objects and lists; without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > limit:
            return True
        level = [
            each
            for part in level
            for each in (part.values() if isinstance(part, dict) else part)
            if isinstance(each, dict | list)
        ]
    return False


def is_wider(value: Any, limit: int) -> bool:
    """Whether any object in a JSON value has more keys; without recursion."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if len(part) > limit:
                return True
            waiting.extend(each for each in part.values() if isinstance(each, dict | list))
        elif isinstance(part, list):
            waiting.extend(each for each in part if isinstance(each, dict | list))
    return False
