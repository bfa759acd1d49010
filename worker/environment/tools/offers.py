"""Checks of the tools that a server lists, before a job offers them to a model."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from reinforge.net.outbound import ALLOW_VARIABLE
from reinforge.parsing.json_depth import is_deeper
from reinforge.tools import ToolFunction, ToolSchema
from worker.environment.tools.server import ServerAddress, ToolServerError, readable
from worker.rewards.network import RequestFailed

MAX_TOOLS, MAX_SCHEMA_BYTES, MAX_LIST_BYTES = 128, 32 << 10, 256 << 10


def server_error(address: ServerAddress, message: str, code: str, hint: str) -> ToolServerError:
    message = readable(message, 1000).rstrip(".")
    return ToolServerError(f"The tool server {address.name}: {message}.", code=code, hint=hint)


def not_reached(address: ServerAddress, error: RequestFailed, *, hint: str) -> ToolServerError:
    if error.kind == "refused":
        hint = f"Allow its address in {ALLOW_VARIABLE} on the workers, which call the server."
        return server_error(address, error.message, "tool_server_refused", hint)
    return server_error(address, error.message, "tool_server_unreachable", hint)


def offer(address: ServerAddress, name: str, description: Any, parameters: Any) -> ToolSchema:
    """Schema of a listed tool. Raises ToolServerError `tool_schema_invalid`, `tool_name_invalid`."""
    if not isinstance(parameters, dict) or not _storable(parameters):
        raise server_error(
            address,
            f"the tool {name[:80]!r} has no JSON Schema of at most {MAX_SCHEMA_BYTES >> 10} KiB and 32 levels",
            "tool_schema_invalid",
            "Exclude the tool: name only the others in `include`.",
        )
    try:
        function = ToolFunction(
            name=name,
            description=readable(description, 4000) if isinstance(description, str) else "",
            parameters=parameters,
        )
    except ValidationError as error:
        raise server_error(
            address,
            f"the name {name[:80]!r} is not 1 to 64 letters, digits, underscores and dashes",
            "tool_name_invalid",
            "Exclude the tool: name only the others in `include`.",
        ) from error
    return ToolSchema(function=function)


def check_size(address: ServerAddress, schemas: Sequence[ToolSchema]) -> None:
    """Check number and size of listed tools. Raises ToolServerError `too_many_tools`."""
    size = sum(len(schema.model_dump_json()) for schema in schemas)
    if len(schemas) <= MAX_TOOLS and size <= MAX_LIST_BYTES:
        return
    most = f"{MAX_TOOLS} tools" if len(schemas) > MAX_TOOLS else f"{MAX_LIST_BYTES >> 10} KiB of schemas"
    raise server_error(
        address,
        f"it has more than {most}",
        "too_many_tools",
        "Name only the tools that the job needs in `include`.",
    )


def complete(address: ServerAddress, schemas: Sequence[ToolSchema]) -> tuple[ToolSchema, ...]:
    """Check a complete list of tools. Raises ToolServerError `unknown_tool` (named in `include`, not listed),
    `no_tools`, `tool_name_twice`.
    """
    names = {schema.name for schema in schemas}
    if missing := sorted(address.include - names):
        raise server_error(
            address,
            f"it has no tool {missing[0]!r}, but `include` names it",
            "unknown_tool",
            "Correct `include`.",
        )
    if not schemas:
        raise server_error(
            address, "it offers no tools", "no_tools", "Add tools to the server, or remove it from the job."
        )
    if len(names) < len(schemas):
        raise server_error(
            address, "it lists a tool twice", "tool_name_twice", "Make the server's tool names unique."
        )
    return tuple(schemas)


def as_expected(
    address: ServerAddress, expected: Sequence[ToolSchema] | None, schemas: tuple[ToolSchema, ...]
) -> tuple[ToolSchema, ...]:
    """Return the tools in their order at the job's creation. Raises ToolServerError `tool_list_changed` if
    the tools have changed since.
    """
    if expected is None:
        return schemas
    if difference := _difference(expected, schemas):
        raise server_error(
            address,
            f"its tools changed since the job was created: {difference}",
            "tool_list_changed",
            "Restore the server's tools, or create the job again without `tools` in this source.",
        )
    return tuple(expected)


def _storable(schema: Mapping[str, Any]) -> bool:
    if is_deeper(schema, 32):
        return False
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
        return len(text.encode()) <= MAX_SCHEMA_BYTES and "\\u0000" not in text
    except ValueError:  # NaN, or half of a surrogate pair
        return False


def _difference(before: Sequence[ToolSchema], now: Sequence[ToolSchema]) -> str:
    """Changes in words; empty if there are none."""
    old, new = {s.name: s for s in before}, {s.name: s for s in now}
    lines = [f"{name} is gone" for name in old if name not in new]
    lines += [f"{name} is new" for name in new if name not in old]
    lines += [f"{name} has another schema" for name in old if name in new and old[name] != new[name]]
    return ", ".join(lines)[:400]
