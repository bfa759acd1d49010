"""JSON schema of a chat request's `response_format`."""

from typing import Any

import orjson

from reinforge.errors import InvalidInput, TooLarge
from reinforge.parsing.json_depth import is_deeper
from reinforge.schemas.openai_chat import ChatRequest

LARGEST = 65_536
DEEPEST = 64
ANY_OBJECT: dict[str, Any] = {"type": "object"}


def json_schema(body: ChatRequest) -> dict[str, Any] | None:
    response_format = body.response_format
    if response_format is None or response_format.type == "text":
        return None
    if body.tools and body.tool_choice != "none":
        raise InvalidInput(
            "response_format cannot be combined with tools: a tool call does not have that format.",
            code="unsupported",
            param="response_format",
            hint="Leave out one of them, or set tool_choice to none.",
        )
    if response_format.type == "json_object":
        return ANY_OBJECT
    if response_format.type != "json_schema":
        raise InvalidInput(
            f"There is no response format {response_format.type!r}.",
            code="unsupported",
            param="response_format.type",
            hint="Offered are text, json_object and json_schema.",
        )
    fields: dict[str, Any] = response_format.model_extra or {}
    nested = fields.get("json_schema")
    where = "response_format.json_schema.schema" if "json_schema" in fields else "response_format.schema"
    schema = nested.get("schema") if isinstance(nested, dict) else fields.get("schema")
    if not isinstance(schema, dict):
        raise InvalidInput(
            f"{where} has to be a JSON schema.",
            code="invalid_schema",
            param=where,
            hint='Send {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}.',
        )
    if len(orjson.dumps(schema)) > LARGEST or is_deeper(schema, DEEPEST):
        raise TooLarge(
            f"The schema is larger than {LARGEST} bytes or deeper than {DEEPEST} levels.",
            code="schema_too_large",
            param=where,
            hint="Shorten its descriptions, or describe less of the answer.",
        )
    return schema
