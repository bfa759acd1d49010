"""The notation of a message whose model is not known, by the marks of its text."""

from reinforge.tool_calls.base import AssistantMessage, Notation, Tools
from reinforge.tool_calls.table import NOTATIONS


def detect(text: str, tools: Tools | None = None) -> Notation | None:
    """The first notation in the table with a readable call in the text."""
    for notation in NOTATIONS.values():
        if not notation.marks or not any(mark in text for mark in notation.marks):
            continue
        if any(call.error is None for call in notation.read(text, tools).calls):
            return notation
    return None


def read_any(text: str, tools: Tools | None = None) -> AssistantMessage:
    return (detect(text, tools) or NOTATIONS["hermes"]).read(text, tools)
