"""`response_format` of a chat request: the JSON schema that completions are held to."""

from typing import Any

import orjson

from reinforge.errors import InvalidInput, TooLarge
from reinforge.parsing.json_depth import is_deeper
from reinforge.schemas.openai_chat import ChatRequest

LARGEST = 65_536
"""Bytes of a schema as JSON."""
DEEPEST = 64
ANY_OBJECT: dict[str, Any] = {"type": "object"}


def wanted(body: ChatRequest) -> dict[str, Any] | None:
    """The schema; None for plain text. Both spellings of `json_schema` are taken, nested and flat.

    Raises InvalidInput, TooLarge.
    """
    given = body.response_format
    if given is None or given.type == "text":
        return None
    if body.tools and body.tool_choice != "none":
        raise InvalidInput(
            "A response_format and tools exclude each other here: a call of a tool is not in that form.",
            code="unsupported",
            param="response_format",
            hint="Leave out one of them, or set tool_choice to none.",
        )
    if given.type == "json_object":
        return ANY_OBJECT
    if given.type != "json_schema":
        raise InvalidInput(
            f"There is no response format {given.type!r}.",
            code="unsupported",
            param="response_format.type",
            hint="Offered are text, json_object and json_schema.",
        )
    fields: dict[str, Any] = given.model_extra or {}
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
