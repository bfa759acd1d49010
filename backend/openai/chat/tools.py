"""Tool calls in chat completions."""

from backend.data.ids import new_id
from reinforge.schemas.openai_chat import ToolCall
from reinforge.tool_calls import NOTATIONS, as_openai, openai


def split(text: str) -> tuple[str | None, list[ToolCall]]:
    remaining, calls = openai.split(text)
    return remaining, [ToolCall.model_validate(as_openai(call, new_id("call_"))) for call in calls]


class ToolCallBuffer:
    def __init__(self) -> None:
        self._held = ""

    def push(self, piece: str) -> str:
        text = self._held + piece
        (mark,) = NOTATIONS["hermes"].marks
        place = text.find(mark)
        if place < 0:
            ends = range(min(len(mark) - 1, len(text)), 0, -1)
            place = len(text) - next((size for size in ends if mark.startswith(text[-size:])), 0)
        self._held = text[place:]
        return text[:place]

    def rest(self) -> tuple[str | None, list[ToolCall]]:
        return split(self._held)
