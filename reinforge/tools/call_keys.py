"""Search keys of completions with tool calls."""

from collections.abc import Iterable
from typing import Literal

from reinforge.tools.statuses import CallStatus

Outcome = CallStatus | Literal["error"]
"""`error`: any status but `ok`."""

_NAMELESS = frozenset({"unknown_tool", "invalid_json", "too_many"})
"""Statuses of calls that may name a tool that does not exist."""


def call_key(tool: str | None, outcome: Outcome | None) -> str:
    """Search key of completions that call this tool with this outcome; None: any."""
    return f"{tool or ''}={outcome or ''}"


def call_keys(calls: Iterable[tuple[str, str]]) -> list[str]:
    """All keys of a completion with these calls (name, status), sorted."""
    keys: set[str] = set()
    for name, status in calls:
        outcomes = ("", status) if status == "ok" else ("", status, "error")
        tools = ("",) if status in _NAMELESS else ("", name)
        keys |= {f"{tool}={outcome}" for tool in tools for outcome in outcomes}
    return sorted(keys - {"="})
