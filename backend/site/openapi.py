"""FastAPI's OpenAPI document with examples, If-Match requirements and errors."""

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from backend.site.openapi_errors import document_errors

EXAMPLES = Path(__file__).with_name("openapi_examples.json")
METHODS = ("get", "post", "put", "patch", "delete")
IF_MATCH_SOMETIMES = frozenset({"setBudget"})
"""Operations that may also create the object, and then need no If-Match."""


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [spec for item in document["paths"].values() for method, spec in item.items() if method in METHODS]


def serve(app: FastAPI) -> None:
    plain = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
            for operation in operations(document):
                _edits(operation)
                _show(operation, examples.get(operation["operationId"], {}))
            document_errors(document, _dependants(app), METHODS)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = completed  # type: ignore[method-assign]


def _dependants(app: FastAPI) -> dict[str, Dependant]:
    return {
        context.operation_id: context.dependant
        for context in iter_route_contexts(app.routes)
        if getattr(context, "operation_id", None)
    }


def _edits(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "header" and parameter["name"] == "if-match":
            parameter["required"] = operation["operationId"] not in IF_MATCH_SOMETIMES
            parameter["schema"] = {"type": "string", "maxLength": 1000}
            parameter["description"] = "The `etag` of the version that the change is based on, or `*`."


def _show(operation: dict[str, Any], example: dict[str, Any]) -> None:
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        if kind == "application/json" and "request" in example:
            content["example"] = example["request"]
        elif kind == "multipart/form-data" and "form" in example:
            content["example"] = example["form"]
    for part, kind in (("response", "application/json"), ("stream", "text/event-stream")):
        if part in example:
            answer = operation["responses"].get(example[part]["status"], {})
            if kind in answer.get("content", {}):
                answer["content"][kind]["example"] = example[part]["body"]
