"""Converts pydantic's error locations to dotted paths."""

from collections.abc import Sequence
from typing import Any


def dotted(location: Sequence[int | str], value: Any = None, *, missing: bool = False) -> str:
    """Convert `("rewards", 0, "python", "path")` to `rewards[0].path`, without union tags."""
    path = ""
    for position, part in enumerate(location):
        if isinstance(part, int):
            path += f"[{part}]"
            value = value[part] if isinstance(value, list) and part < len(value) else None
            continue
        absent_field = missing and position == len(location) - 1
        is_tag = part not in value if isinstance(value, dict) else value is not None
        if is_tag and not absent_field:
            continue
        path += f".{part}" if path else part
        value = value.get(part) if isinstance(value, dict) else None
    return path
