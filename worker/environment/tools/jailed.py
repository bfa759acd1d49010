"""Python tools, called in the sandbox."""

from collections.abc import Mapping, Sequence
from typing import Any

from reinforge.errors import JobFailure
from reinforge.tools import CallStatus, schemas_of
from reinforge.tools.source import class_name, has_method
from worker.environment.tools.base import (
    MAX_RESULT_CHARACTERS,
    PastCall,
    PythonSource,
    ReplyRequest,
    ToolEnd,
    ToolRequest,
    ToolResult,
    ToolReward,
    ToolStart,
)  # fmt: skip
from worker.sandbox.client import SandboxClient
from worker.sandbox.jailed.tool_texts import mark
from worker.sandbox.limits import Timeouts
from worker.sandbox.outcome import RowResult

FIRST_STATE = "{}"
_REPEATED: frozenset[str] = frozenset({"ok", "exception"})
"""Statuses of replayed calls; calls with other statuses did not change the class instance."""
_ROWS_PER_CALL = 16
_MOST_SECONDS, _MOST_CALL_SECONDS = 60.0, 120.0
_STATUSES: Mapping[str, CallStatus] = {
    "ok": "ok", "not_applicable": "ok", "exception": "exception", "bad_value": "exception", "memory": "memory",
    "timeout": "timeout", "cpu_limit": "timeout", "deadline": "timeout", "skipped": "timeout",
    "crashed": "crashed", "exited": "crashed", "output_flood": "crashed",
}  # fmt: skip


class JailedSource:
    """Tools of one Python source: its functions, or the methods of its environment class.

    Calls of functions share a child process, unless `isolate` is `sample`; every call executes the source
    again. A call of a class replays `reset` and all earlier calls first. Raises ToolSourceError if the source
    has no schemas.
    """

    def __init__(
        self, client: SandboxClient, source: PythonSource, *, most_characters: int = MAX_RESULT_CHARACTERS
    ) -> None:
        if not 0 < most_characters <= MAX_RESULT_CHARACTERS:
            raise ValueError(f"most_characters must be 1 to {MAX_RESULT_CHARACTERS}, got {most_characters}")
        self._client, self._source, self._most = client, source, most_characters
        self.schemas = schemas_of(source.source, file=source.file, kind=source.kind)
        is_class = source.kind == "class"
        self._class = class_name(source.source, file=source.file) if is_class else None
        self._scores = is_class and has_method(source.source, "get_reward", file=source.file)

    @property
    def starts(self) -> bool:
        return self._class is not None

    @property
    def scores(self) -> bool:
        return self._scores

    def start(self, rollouts: Sequence[ToolStart]) -> list[ToolResult]:
        calls = [self._message("start", rollout.item, _class_seed(rollout.seed)) for rollout in rollouts]
        rows = self._send(calls, "reset")
        return [self._result(row, "reset", FIRST_STATE) for row in rows]

    def call(self, requests: Sequence[ToolRequest]) -> list[ToolResult]:
        rows = self._send([self._call(request) for request in requests], "the tool")
        return [
            self._result(row, request.name, request.state)
            for row, request in zip(rows, requests, strict=True)
        ]

    def reward(self, rollouts: Sequence[ToolEnd], source: int) -> list[ToolReward]:
        calls = [
            self._message("reward", end.item, _class_seed(end.seed), history=_history(end.history, source))
            for end in rollouts
        ]
        rewards = []
        for row in self._send(calls, "get_reward"):
            status = _STATUSES[row.status]
            message = None if status == "ok" else self._failure(row, "get_reward", status)
            finding = "tool_not_deterministic" if "differs" in row.criteria else None
            rewards.append(
                ToolReward(status, row.value if row.status == "ok" else None, row.wall_ms, message, finding)  # type: ignore[arg-type]
            )
        return rewards

    def release(self, rollouts: Sequence[ToolEnd]) -> None:
        """Do nothing: no process outlives a call."""

    def close(self) -> None:
        """Do nothing: the caller closes the client."""

    def _call(self, request: ToolRequest) -> dict[str, Any]:
        if self._class is not None:
            history = _history(request.history, request.source)
            return self._message(
                "call",
                request.item,
                _class_seed(request.seed),
                request.name,
                request.arguments,
                history=history,
            )
        seed = f"{request.seed}:{len(request.history)}"
        return self._message("call", request.item, seed, request.name, request.arguments, state=request.state)

    def _message(
        self,
        kind: str,
        item: Mapping[str, Any],
        seed: str,
        name: str = "",
        arguments: Mapping[str, Any] | None = None,
        *,
        state: str | None = None,
        history: Sequence[Any] = (),
        **more: Any,
    ) -> dict[str, Any]:
        return {
            "kind": kind, "class": self._class, "name": name, "arguments": dict(arguments or {}), "item": dict(item),
            "state": state, "history": list(history), "seed": seed, "most": self._most, **more,
        }  # fmt: skip

    def _send(self, calls: list[dict[str, Any]], what: str) -> list[RowResult]:
        return send(self._client, self._source, calls, what)

    def _result(self, row: RowResult, name: str, state: Any) -> ToolResult:
        return result_of(row, name, state, self._source.timeout_seconds)

    def _failure(self, row: RowResult, name: str, status: CallStatus) -> str:
        return _failure_text(row, name, status, self._source.timeout_seconds)


class SimulatedUser:
    """Calls `reply(messages, item, state)` of a Python source; if that returns None, the rollout ends."""

    def __init__(
        self, client: SandboxClient, source: PythonSource, *, most_characters: int = MAX_RESULT_CHARACTERS
    ) -> None:
        self._client, self._source, self._most = client, source, most_characters

    def reply(self, requests: Sequence[ReplyRequest]) -> list[ToolResult]:
        calls: list[dict[str, Any]] = [
            {
                "kind": "reply", "class": None, "name": "reply", "arguments": {}, "item": dict(request.item),
                "messages": [dict(message) for message in request.messages], "state": request.state, "history": [],
                "seed": f"{request.seed}:reply:{request.turn}", "most": self._most,
            }
            for request in requests
        ]  # fmt: skip
        rows = send(self._client, self._source, calls, "reply")
        seconds = self._source.timeout_seconds
        return [
            result_of(row, "reply", request.state, seconds)
            for row, request in zip(rows, requests, strict=True)
        ]


def send(
    client: SandboxClient, source: PythonSource, calls: list[dict[str, Any]], what: str
) -> list[RowResult]:
    """Run calls in the sandbox, one result per call. Errors of user code become statuses. Raises JobFailure
    `sandbox_unavailable`.
    """
    replays = max((len(call["history"]) for call in calls), default=0)
    # Repeating former calls may take as long as they took.
    seconds = min(_MOST_SECONDS, source.timeout_seconds * (1 + replays))
    whole = min(_MOST_CALL_SECONDS, max(30.0, _ROWS_PER_CALL * seconds))
    try:
        outcome = client.call_tools(
            source.source, calls, isolate=source.isolate, timeouts=Timeouts(sample=seconds, call=whole)
        )
    except ValueError as error:
        return [RowResult("exception", reason=f"{what} cannot be called: {error}"[:400]) for _ in calls]
    if outcome.status == "load_error":
        message = f"{source.file} cannot be loaded: {_last_line(outcome.message)}"
        return [RowResult("exception", reason=message, message=outcome.message) for _ in calls]
    if outcome.status != "ok":
        raise JobFailure(
            f"The sandbox did not answer {len(calls)} tool calls: {_last_line(outcome.message)}",
            code="sandbox_unavailable",
            hint="Check that sandboxd runs on this worker (`reinforge doctor`), then resume the job.",
            retryable=True,
        )
    return outcome.rows


def result_of(row: RowResult, name: str, state: Any, seconds: float) -> ToolResult:
    status = _STATUSES[row.status]
    detail = row.prints or None
    if status == "ok":
        ended = row.status == "not_applicable"
        return ToolResult(
            "ok", row.reason or "", row.message or state, row.wall_ms, ended=ended, detail=detail
        )
    detail = "\n".join(filter(None, (row.message, row.prints))) or None
    text = _failure_text(row, name, status, seconds)
    differs = "tool_not_deterministic" if "differs" in row.criteria else None
    return ToolResult(status, text, state, row.wall_ms, detail=detail, finding=differs)  # type: ignore[arg-type]


def _failure_text(row: RowResult, name: str, status: CallStatus, seconds: float) -> str:
    if status == "timeout":
        return f"{name} took longer than {seconds:g} s and was stopped."
    if status == "memory":
        return f"{name} needed more memory than it may have."
    if status == "crashed":
        return f"{name} did not return: {row.message or 'its process ended'}."
    return row.reason or row.message or f"{name} failed."


def _history(history: Sequence[PastCall], source: int) -> list[tuple[str, dict[str, Any], str]]:
    return [
        (call.name, call.arguments, mark(call.status, call.text))
        for call in history
        if call.source == source and call.status in _REPEATED
    ]


def _class_seed(seed: int) -> str:
    return f"{seed}"


def _last_line(message: str | None) -> str:
    lines = (message or "no reason given").strip().splitlines()
    return lines[0][:300] if lines else "no reason given"
