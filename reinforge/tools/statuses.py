"""Statuses of a tool call."""

from typing import Literal, get_args

CallStatus = Literal[
    "ok",
    "invalid_json",
    "unknown_tool",
    "bad_arguments",
    "exception",
    "timeout",
    "memory",
    "crashed",
    "refused_address",
    "unreachable",
    "too_many",
]
"""`invalid_json`, `unknown_tool`, `bad_arguments`, `too_many`: the call did not run. `exception`: the tool
raised an error, or returned neither text nor JSON. `refused_address`, `unreachable`: only for tool servers.
"""

CALL_STATUSES: frozenset[str] = frozenset(get_args(CallStatus))

INVALID_CALLS: frozenset[CallStatus] = frozenset({"invalid_json", "unknown_tool", "bad_arguments"})
"""Statuses of calls that the model wrote wrongly."""
