"""Converts the model calls of an agent rollout to conversations, for rewards, records and the page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from reinforge.records import CompletionEnd
from reinforge.schemas.agent_rollouts import EndStatus
from worker.environment.agent.calls import ModelCall
from worker.environment.agent.graph import CaptureGraph
from worker.environment.agent.messages import Message
from worker.environment.agent.rows import CapturedRow
from worker.environment.agent.texts import ModelCallTexts
from worker.environment.base import Conversation, PolicyTurn, Segment, ToolCall

_FAILURES: dict[EndStatus, str | None] = {
    "ok": None,
    "agent_error": "agent_error",
    "agent_lost": "agent_lost",
    "timeout": "agent_timeout",
}
NO_CALLS = "agent_no_calls"


@dataclass(frozen=True, slots=True)
class RolloutOutcome:
    status: EndStatus
    reward: float | None
    message: str | None


def captured_conversation(
    begun: Conversation,
    graph: CaptureGraph,
    outcome: RolloutOutcome,
    texts: ModelCallTexts,
    stop_ids: Sequence[int],
    *,
    forks: Literal["train", "first_only"],
) -> Conversation:
    """Convert an ended rollout to a conversation: its branch with the most policy tokens, which rewards read.
    If `forks` is `train`, `others` contains the other branches.
    """
    failure, message = _FAILURES[outcome.status], outcome.message
    rows = graph.capture().rows
    if not rows:
        if failure is None:
            failure, message = NO_CALLS, "The program received no model answer that can be trained on."
        return _without_calls(begun, failure, message, stop_ids)
    longest = max(rows, key=lambda candidate: (sum(candidate.action_mask), -candidate.branch))
    trained = rows if forks == "train" else (replace(longest, share=1.0),)
    conversations = {row.branch: _conversation(begun, graph, row, texts, stop_ids) for row in trained}
    return replace(
        conversations.pop(longest.branch),
        failure=failure,
        failure_message=message if failure else None,
        reward=outcome.reward,
        branches=len(rows),
        others=tuple(conversations.values()),
    )


def _conversation(
    begun: Conversation,
    graph: CaptureGraph,
    row: CapturedRow,
    texts: ModelCallTexts,
    stop_ids: Sequence[int],
) -> Conversation:
    calls = [graph.calls_by_no[no] for no in row.calls]
    first = calls[0].request
    prompt = replace(
        begun.prompt,
        messages=[dict(message) for message in first.messages],
        token_ids=row.prompt_ids,
        text=texts.raw(row.prompt_ids),
        tools=[dict(tool) for tool in first.tools] if first.tools else None,
    )
    turns = _turns(row, calls, texts)
    return replace(
        begun,
        prompt=prompt,
        segments=row.completion,
        text=turns[-1].text,
        turn_end="stop",
        turns=turns,
        messages=_messages(calls),
        finish_reason=_finish(graph, calls[-1], stop_ids),
        branch=row.branch,
        branch_reason=row.reason,
        share=row.share,
    )


def _without_calls(
    begun: Conversation, failure: str, message: str | None, stop_ids: Sequence[int]
) -> Conversation:
    """Conversation of a rollout without trainable answers: its completion is one untrained token."""
    nothing = Segment((stop_ids[0] if stop_ids else begun.prompt.token_ids[-1],), "template")
    return replace(
        begun, segments=(nothing,), finish_reason="environment", failure=failure, failure_message=message
    )


def _finish(graph: CaptureGraph, last: ModelCall, stop_ids: Sequence[int]) -> CompletionEnd:
    if graph.limit is not None:
        return "length" if graph.limit == "max_policy_tokens" else "max_turns"
    assert last.answer is not None
    return "stop" if last.answer.token_ids[-1] in stop_ids else "length"


def _turns(row: CapturedRow, calls: Sequence[ModelCall], texts: ModelCallTexts) -> tuple[PolicyTurn, ...]:
    results = {
        str(message.get("tool_call_id")): str(message.get("content") or "")
        for call in calls[1:]
        for message in call.new_messages
        if message["role"] == "tool"
    }
    turns: list[PolicyTurn] = []
    place = 0
    for segment in row.completion:
        if segment.by == "policy":
            answer = calls[len(turns)].answer
            assert answer is not None
            end = place + len(segment.token_ids)
            text = texts.text(segment.token_ids)
            tools = calls[len(turns)].request.tools or ()
            turns.append(PolicyTurn(len(turns), place, end, text, _calls(answer.message, tools, results)))
        place += len(segment.token_ids)
    return tuple(turns)


def _calls(answer: Message, tools: Sequence[Message], results: dict[str, str]) -> tuple[ToolCall, ...]:
    """Calls of declared tools get the status `ok`: programs report no failures."""
    names = {tool["function"]["name"] for tool in tools}
    return tuple(
        ToolCall(
            call["id"],
            call["function"]["name"],
            call["function"]["arguments"],
            "ok" if call["function"]["name"] in names else "unknown_tool",
            results.get(call["id"], ""),
        )
        for call in answer.get("tool_calls") or ()
    )


def _messages(calls: Sequence[ModelCall]) -> tuple[dict[str, Any], ...]:
    messages: list[dict[str, Any]] = []
    for number, call in enumerate(calls):
        assert call.answer is not None
        new = [dict(message) for message in call.new_messages] if number else []
        messages += [message | {"status": "ok"} if message["role"] == "tool" else message for message in new]
        messages.append(dict(call.answer.message))
    return tuple(messages)
