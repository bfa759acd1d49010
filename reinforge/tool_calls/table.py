"""All notations of tool calls, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from reinforge.tool_calls.base import AssistantMessage, Notation, Tools, without_ends
from reinforge.tool_calls.notations.deepseek import DEEPSEEK
from reinforge.tool_calls.notations.function_xml import FUNCTION_XML
from reinforge.tool_calls.notations.gemma import GEMMA
from reinforge.tool_calls.notations.glm import GLM
from reinforge.tool_calls.notations.harmony import HARMONY
from reinforge.tool_calls.notations.hermes import HERMES
from reinforge.tool_calls.notations.invoke import INVOKE_XML
from reinforge.tool_calls.notations.llama import LLAMA
from reinforge.tool_calls.notations.mistral import MISTRAL
from reinforge.tool_calls.notations.python_list import PYTHON_LIST
from reinforge.tool_calls.reasoning import think_sections

_ALL = (HERMES, FUNCTION_XML, GLM, GEMMA, PYTHON_LIST, HARMONY, INVOKE_XML, MISTRAL, DEEPSEEK, LLAMA)
NOTATIONS: Mapping[str, Notation] = MappingProxyType({notation.name: notation for notation in _ALL})


def read(text: str, notation: str, tools: Tools | None = None) -> AssistantMessage:
    return NOTATIONS[notation].read(text, tools)


def read_without_calls(text: str) -> AssistantMessage:
    content, reasoning = think_sections(text)
    return AssistantMessage(without_ends(content).strip(), reasoning.strip())


def first_call(text: str, notation: str) -> tuple[int, int] | None:
    return NOTATIONS[notation].first_call(text)
