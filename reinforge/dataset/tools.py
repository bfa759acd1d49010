"""A row's `tools`: what the policy may call (docs/datasets.md)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reinforge.dataset.errors import DatasetError, Path
from reinforge.dataset.limits import DatasetLimits
from reinforge.parsing.json_depth import is_deeper

Tool = dict[str, Any]
"""`{"type": "function", "function": {"name", "description"?, "parameters"?, …}}`"""

COLUMN = "tools"
NO_PLACE_FOR_TOOLS = (
    "The model's chat template has no place for tools: the rows' tools are left out of the prompts. Describe "
    "them in a message, or use a model that was trained to call tools."
)
_HINT = (
    'It is a list such as [{"type": "function", "function": {"name": "add", "parameters": {…}}}]. '
    "Rename the column if it holds something else."
)


def row_tools(row: Mapping[str, Any]) -> list[Tool] | None:
    """The row's tools, which may be JSON text. Raises DatasetError `invalid_tools`."""
    value = row.get(COLUMN)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise _invalid((COLUMN,), f'"{COLUMN}" is text that is not JSON.') from None
        if is_deeper(value, DatasetLimits().max_depth):
            raise _invalid(
                (COLUMN,), f'"{COLUMN}" is nested more than {DatasetLimits().max_depth} levels deep.'
            )
    if not isinstance(value, list):
        raise _invalid((COLUMN,), f'"{COLUMN}" is not a list of functions.')
    # Inside of a text there is no place to point at.
    texts = isinstance(row[COLUMN], str)
    return [_tool(tool, index, () if texts else (index,)) for index, tool in enumerate(value)] or None


def tools_of(row: Mapping[str, Any]) -> list[Tool] | None:
    try:
        return row_tools(row)
    except DatasetError:
        return None


def prompt_characters(messages: Sequence[Mapping[str, Any]], tools: list[Tool] | None) -> int:
    texts = sum(len(str(message["content"])) for message in messages)
    return texts + len(json.dumps(tools)) if tools else texts


def _tool(value: Any, index: int, place: Path) -> Tool:
    path: Path = (COLUMN, *place)
    which = f"The tool {index + 1}"
    if not isinstance(value, dict):
        raise _invalid(path, f"{which} is not an object.")
    if value.get("type") not in (None, "function"):
        kind = json.dumps(value["type"])[:80]
        raise _invalid(path, f"{which} is of type {kind}; only functions can be used.")
    bare = value.get("function") is None
    function = {key: part for key, part in value.items() if key != "type"} if bare else value["function"]
    if not isinstance(function, dict):
        raise _invalid(path, f"The function of tool {index + 1} is not an object.")
    if not isinstance(function.get("name"), str) or not function["name"].strip():
        raise _invalid(path, f"{which} has no name.")
    for member, kinds, what in (("description", str, "text"), ("parameters", dict, "a JSON Schema object")):
        if not isinstance(function.get(member), kinds | None):
            raise _invalid(path, f"The {member} of tool {index + 1} is not {what}.")
    whole = {"type": "function", "function": function} if bare else {"type": "function"} | value
    tool: Tool = _without_nulls(whole)
    return tool


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _invalid(path: Path, message: str) -> DatasetError:
    return DatasetError(message, code="invalid_tools", path=path, hint=_HINT)
