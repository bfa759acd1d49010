"""Table of notations."""

from collections.abc import Mapping
from types import MappingProxyType

from reinforge.tool_calls.base import AssistantMessage, Notation, Tools
from reinforge.tool_calls.notations.hermes import HERMES

NOTATIONS: Mapping[str, Notation] = MappingProxyType({notation.name: notation for notation in (HERMES,)})


def read(text: str, notation: str, tools: Tools | None = None) -> AssistantMessage:
    """Read a message by the name of its notation."""
    return NOTATIONS[notation].read(text, tools)
