"""Calls of tools by a random model: what it wrote decides whether and how its turn calls one."""

import json
import random
from collections.abc import Sequence
from typing import Any

from reinforge.tool_calls import AssistantMessage, first_call, read
from reinforge.tools import ToolSchema, schemas_of
from worker.environment.tools.base import (
    ReplyRequest,
    ToolEnd,
    ToolRequest,
    ToolResult,
    ToolReward,
    ToolStart,
)
from worker.models.rendering import ChatRenderer, Conversation, Rendered
from worker.rollout.text import Text

NOTE = '''
def note(number: int) -> str:
    """Take a note."""
    return f"noted {number}"
'''


class CallingTexts:
    """`TurnTexts` and `TurnContinuation` of a tiny model.

    A turn with an odd number of tokens is a call of `note`; with some first tokens one that cannot be read, or one of
    another tool.
    """

    parallel_calls = True

    def __init__(self, tokenizer: Any) -> None:
        self._text, self._renderer = Text(tokenizer), ChatRenderer(tokenizer)

    def render(self, conversations: Sequence[Conversation], max_tokens: int) -> list[Rendered]:
        return self._renderer.render(conversations, max_tokens)

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [written(ids) for ids in rows]

    def plain_ids(self, text: str) -> tuple[int, ...]:
        return self._renderer.plain_ids(text)

    def read(self, text: str) -> AssistantMessage:
        return read(text, "hermes")

    def first_call(self, text: str) -> tuple[int, int] | None:
        return first_call(text, "hermes")

    def suffixes(self, turns: Sequence[tuple[Sequence[dict[str, Any]], int | None]]) -> list[tuple[int, ...]]:
        texts = ["".join(f"<tool>{message['content']}" for message in row) for row, _ in turns]
        return [self._renderer.plain_ids(f"{text}<assistant>") for text in texts]


def written(ids: Sequence[int]) -> str:
    if len(ids) % 2 == 0:
        return "an answer"
    if ids[0] % 7 == 0:
        return "<tool_call>{not JSON</tool_call>"
    name = "other" if ids[0] % 7 == 1 else "note"
    call = json.dumps({"name": name, "arguments": {"number": int(ids[0])}})
    return f"<tool_call>{call}</tool_call>"


class PlainRunner:
    """Runs `note` in this process, and records what it was asked for."""

    def __init__(self, source: str = NOTE, *, failing: frozenset[int] = frozenset()) -> None:
        self.schemas: tuple[tuple[ToolSchema, ...], ...] = (schemas_of(source),)
        self.requests: list[list[ToolRequest]] = []
        self.released: list[tuple[int, int]] = []
        self.replies: list[list[ReplyRequest]] = []
        self._failing = failing
        self.closed = False

    def start(self, rollouts: Sequence[ToolStart]) -> list[ToolResult]:
        return [ToolResult("ok", "", None, 0.0) for _ in rollouts]

    def run(self, requests: Sequence[ToolRequest]) -> list[ToolResult]:
        self.requests.append(list(requests))
        return [self._result(request) for request in requests]

    def _result(self, request: ToolRequest) -> ToolResult:
        number = request.arguments["number"]
        if number in self._failing:
            return ToolResult("exception", "Error: no note", request.state, 1.0)
        return ToolResult("ok", f"noted {number}", (request.state or 0) + 1, 1.0)

    def reward(self, rollouts: Sequence[ToolEnd]) -> list[ToolReward]:
        return [ToolReward("ok", None, 0.0) for _ in rollouts]

    def release(self, rollouts: Sequence[ToolEnd]) -> None:
        self.released += [(rollout.seed, rollout.sample_no) for rollout in rollouts]

    def reply(self, requests: Sequence[ReplyRequest]) -> list[ToolResult]:
        """A user who ends every fifth rollout."""
        self.replies.append(list(requests))
        return [
            ToolResult("ok", f"{random.Random(request.seed).randrange(9)} of {len(request.messages)}",
                       (request.state or 0) + 1, 1.0, ended=(request.seed + len(request.messages)) % 5 == 0)
            for request in requests
        ]  # fmt: skip

    def close(self) -> None:
        self.closed = True


class NoTools(PlainRunner):
    def __init__(self) -> None:
        super().__init__()
        self.schemas = ()
