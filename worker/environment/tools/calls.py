"""Checks which tool calls of a turn can run, and whether the rollout ends with the turn."""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace

from reinforge.environment_spec import ToolsSpec
from reinforge.records import CompletionEnd
from reinforge.tool_calls import ParsedCall
from reinforge.tools import INVALID_CALLS, CallStatus, ToolSchema, check_arguments
from worker.environment.base import ToolCall


def checked_call(parsed: ParsedCall, number: int, schemas: Mapping[str, ToolSchema], most: int) -> ToolCall:
    """Check a parsed call; its status is `ok` if it can run. number: index of the call in the rollout. most:
    maximum number of calls in a rollout.
    """
    written = json.dumps(parsed.arguments, ensure_ascii=False) if parsed.arguments is not None else parsed.raw
    status: CallStatus = "ok"
    problem: str | None = None
    if parsed.error is not None or parsed.arguments is None:
        status, problem = "invalid_json", parsed.error or "The call cannot be read."
    elif parsed.name not in schemas:
        names = ", ".join(schemas) or "none"
        status, problem = "unknown_tool", f"There is no tool {parsed.name[:64]}. Tools: {names}."
    elif problem := check_arguments(schemas[parsed.name], parsed.arguments):
        status = "bad_arguments"
    if number >= most:
        status, problem = "too_many", f"At most {most} calls are allowed."
    return ToolCall(f"call_{number}", parsed.name, written, status, f"Error: {problem}" if problem else "")


def second_call(call: ToolCall) -> ToolCall:
    """Refuse a call that is not the turn's first, because the template allows one call per turn."""
    return replace(call, status="too_many", result="Error: One call at a time.")


def turn_end(
    spec: ToolsSpec,
    statuses: Collection[str],
    calls_used: int,
    turn_no: int,
    failure: str | None = None,
    *,
    is_done: bool = False,
) -> tuple[CompletionEnd | None, str | None]:
    """Return how the rollout ends with this turn (None: it continues), and its failure status, by default
    `failure`.
    """
    failed = set(statuses) - INVALID_CALLS - {"ok", "too_many"}
    if failed and spec.tool_failure == "drop":
        return "environment", f"tool_{min(failed)}"
    ends_by_failure = bool(failed) and spec.tool_failure == "end"
    if is_done or ends_by_failure or (INVALID_CALLS & set(statuses) and spec.invalid_call == "end"):
        return "environment", failure
    if "too_many" in statuses and calls_used > spec.max_tool_calls:
        return "max_tool_calls", failure
    return ("max_turns" if turn_no + 1 >= spec.max_turns else None), failure
