"""Tool calls in chat completions."""

from backend.data.ids import new_id
from reinforge.grading import tool_calls
from reinforge.schemas.openai_chat import ToolCall


def split(text: str) -> tuple[str | None, list[ToolCall]]:
    remaining, calls = tool_calls.split(text)
    return remaining, [ToolCall.model_validate(call.as_openai(new_id("call_"))) for call in calls]


class ToolCallBuffer:
    def __init__(self) -> None:
        self._held = ""

    def push(self, piece: str) -> str:
        text = self._held + piece
        mark = tool_calls.MARK
        place = text.find(mark)
        if place < 0:
            ends = range(min(len(mark) - 1, len(text)), 0, -1)
            place = len(text) - next((size for size in ends if mark.startswith(text[-size:])), 0)
        self._held = text[place:]
        return text[:place]

    def rest(self) -> tuple[str | None, list[ToolCall]]:
        return split(self._held)
