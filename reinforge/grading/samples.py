"""Builds `sample`, which stands for a completion in templates and in OpenAI's python graders."""

import json
from collections.abc import Mapping
from typing import Any

from reinforge.tool_calls import NOTATIONS, Tools, openai

_JSON_BEGINS = tuple('{["-0123456789tfn')


def make_sample(text: str, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Build `output_text, output_json, output_tools, choices, output_audio` from a text. extra: overrides."""
    fields = dict(extra or {})
    message = {"role": "assistant", "content": text}
    if fields.get("output_tools"):
        message["tool_calls"] = fields["output_tools"]
    return {
        "output_text": text,
        "output_json": _parsed(text),
        "output_tools": [],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "output_audio": None,
    } | fields


def tool_fields(
    text: str, tools: Tools | None = None, *, raw: str | None = None, notation: str | None = None
) -> dict[str, Any]:
    """Fields of `sample` for the calls of a completion. raw: the text with special tokens, read instead of
    `text` if the model's notation marks calls by them.
    """
    if raw is not None and notation is not None and NOTATIONS[notation].special_tokens:
        rest, calls = openai.split(raw, notation, tools)
    else:
        rest, calls = openai.split(text, tools=tools)
    if not calls:
        return {}
    called_tools = openai.written(calls)
    message = {"role": "assistant", "content": rest, "tool_calls": called_tools}
    return {
        "output_tools": called_tools,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }


def _parsed(text: str) -> Any:
    if not text.lstrip().startswith(_JSON_BEGINS):
        return None
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
