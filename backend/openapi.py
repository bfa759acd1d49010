"""The OpenAPI document: FastAPI's own, with what it cannot know."""

from typing import Any

from fastapi import FastAPI

METHODS = ("get", "post", "put", "patch", "delete")
IF_MATCH_SOMETIMES = frozenset({"setBudget"})
"""Operations that also make a thing which is not there yet; every other edit needs `If-Match`."""


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [spec for item in document["paths"].values() for method, spec in item.items() if method in METHODS]


def serve(app: FastAPI) -> None:
    """Let the application answer the completed document; it is made once."""
    plain = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            for operation in operations(document):
                _edits(operation)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = completed  # type: ignore[method-assign]


def _edits(operation: dict[str, Any]) -> None:
    """An edit says what it was made from: `If-Match` is needed, and refusals are part of the answers."""
    for each in operation.get("parameters", []):
        if each["in"] == "header" and each["name"] == "if-match":
            each["required"] = operation["operationId"] not in IF_MATCH_SOMETIMES
            each["schema"] = {"type": "string", "maxLength": 1000}
            each["description"] = "The `etag` of what the change was made from, or `*`."
            operation["responses"]["412"] = {
                "description": "It has changed since; `error.current` is what it is now."
            }
            operation["responses"]["428"] = {"description": "If-Match is missing."}
