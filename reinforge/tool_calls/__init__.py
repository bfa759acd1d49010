"""Tool calls in completions: readers of the notations in which open models write them."""

from reinforge.tool_calls.base import (
    AssistantMessage,
    Notation,
    ParsedCall,
    Tools,
    as_openai,
)
from reinforge.tool_calls.detection import read_any
from reinforge.tool_calls.history import prepared
from reinforge.tool_calls.table import NOTATIONS, first_call, read, read_without_calls

__all__ = [
    "NOTATIONS",
    "AssistantMessage",
    "Notation",
    "ParsedCall",
    "Tools",
    "as_openai",
    "first_call",
    "prepared",
    "read",
    "read_any",
    "read_without_calls",
]
