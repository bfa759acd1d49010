"""Parsing of tool calls in chat completions, whole or streamed."""

from typing import Any

from backend.data.ids import new_id
from reinforge.schemas.openai_chat import ToolCall
from reinforge.tool_calls import NOTATIONS, as_openai, openai

Tools = list[dict[str, Any]]
_BEGINNING = "{"
"""First character of a message that may be a tool call without a mark."""


def split(
    text: str, notation: str | None = None, tools: Tools | None = None
) -> tuple[str | None, list[ToolCall]]:
    remaining, calls = openai.split(text, notation, tools)
    return remaining, [ToolCall.model_validate(as_openai(call, new_id("call_"))) for call in calls]


class ToolCallBuffer:
    """Passes streamed text on until a tool call may begin, and buffers the rest.

    In a notation without marks such as `<tool_call>`, a call can begin only at the start of the message. If
    the marks are special tokens, the whole message is buffered, since marks in its text begin no call.
    """

    def __init__(self, notation: str | None = None, tools: Tools | None = None) -> None:
        self._notation, self._tools = notation, tools
        entry = NOTATIONS[notation or "hermes"]
        self._marks, self._whole = entry.marks, entry.special_tokens
        self._held = ""
        self._passed = False

    def push(self, piece: str) -> str:
        text = self._held + piece
        place = 0 if self._whole else self._place(text)
        self._held = text[place:]
        self._passed = self._passed or bool(text[:place].strip())
        return text[:place]

    def rest(self) -> tuple[str | None, list[ToolCall]]:
        return split(self._held, self._notation, self._tools)

    def _place(self, text: str) -> int:
        """Index in `text` where a call begins, or may begin with the next piece."""
        if not self._marks:
            is_call = not self._passed and text.lstrip().startswith(_BEGINNING)
            return 0 if is_call or not (self._passed or text.strip()) else len(text)
        places = [place for mark in self._marks if (place := text.find(mark)) >= 0]
        return min(places, default=len(text) - self._partial(text))

    def _partial(self, text: str) -> int:
        """Length of the longest suffix of `text` that may be the beginning of a mark."""
        longest = max(map(len, self._marks)) - 1
        sizes = range(min(longest, len(text)), 0, -1)
        return next((size for size in sizes if any(mark.startswith(text[-size:]) for mark in self._marks)), 0)
