"""Detects the notation of a message from its text alone."""

from reinforge.tool_calls.base import AssistantMessage, Notation, ParsedCall, Tools
from reinforge.tool_calls.notations.glm import GLM
from reinforge.tool_calls.notations.llama import LLAMA, PARAMETERS
from reinforge.tool_calls.table import NOTATIONS

_CLUES = {LLAMA.name: (PARAMETERS,)}


def detect(text: str, tools: Tools | None = None) -> Notation | None:
    """The first notation in `NOTATIONS` in which the text has a readable call."""
    names = {tool["function"]["name"] for tool in tools or () if _has_name(tool)}
    for notation in NOTATIONS.values():
        if not any(clue in text for clue in _CLUES.get(notation.name, notation.marks)):
            continue
        if any(_is_evident(notation, call, names) for call in notation.read(text, tools).calls):
            return notation
    return None


def read_any(text: str, tools: Tools | None = None) -> AssistantMessage:
    return (detect(text, tools) or NOTATIONS["hermes"]).read(text, tools)


def _is_evident(notation: Notation, call: ParsedCall, names: set[str]) -> bool:
    """Whether this is surely a call: an answer may look like one in GLM's or Llama's notation."""
    if call.error is not None:
        return False
    if notation is LLAMA or (notation is GLM and not call.arguments):
        return call.name in names
    return True


def _has_name(tool: object) -> bool:
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)
