"""Possible errors of each operation, for the OpenAPI document."""

from collections.abc import Callable, Iterator
from typing import Any

from fastapi.dependencies.models import Dependant

from backend.access.auth import authenticated
from backend.rpc.client import get_calls

_TEXT_OR_NULL = {"anyOf": [{"type": "string"}, {"type": "null"}]}
ENVELOPE: dict[str, Any] = {
    "title": "Error",
    "description": "Every error, of the native API and of OpenAI's.",
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "title": "What went wrong",
            "type": "object",
            "required": ["message", "type", "code", "param", "hint", "errors", "request_id"],
            "properties": {
                "message": {"type": "string", "description": "What happened, for people."},
                "type": {"type": "string", "description": "The family, such as `invalid_request_error`."},
                "code": {"type": "string", "description": "Which error it is; stable, for programs."},
                "param": {**_TEXT_OR_NULL, "description": "The field at fault, such as `rewards[0].source`."},
                "hint": {**_TEXT_OR_NULL, "description": "What to do about it."},
                "errors": {
                    "type": "array",
                    "description": "All faults, if there are more than `message` names.",
                    "items": {
                        "type": "object",
                        "required": ["message"],
                        "properties": {
                            "message": {"type": "string"},
                            "param": _TEXT_OR_NULL,
                            "code": _TEXT_OR_NULL,
                            "hint": _TEXT_OR_NULL,
                            "line": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                            "column": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                        },
                    },
                },
                "request_id": {**_TEXT_OR_NULL, "description": "The same as `x-request-id`; the log has it."},
                "faults": {
                    "type": "object",
                    "description": "Of a file: how many rows are bad; `errors` lists the first 20.",
                    "required": ["bad_rows", "good_rows", "skippable"],
                    "properties": {
                        "bad_rows": {"type": "integer"},
                        "good_rows": {"type": "integer"},
                        "skippable": {
                            "type": "boolean",
                            "description": "Whether `skip_bad_rows` would keep the good rows.",
                        },
                    },
                },
                "current": {
                    "type": "object",
                    "additionalProperties": True,
                    "description": "For status 412: the resource as it is now.",
                },
            },
        }
    },
}
RESPONSES = {
    "400": ("BadRequest", "The request is not valid: `param` says where, `hint` what to do."),
    "401": ("NotAuthenticated", "No key or session, or one that is unknown, expired or revoked."),
    "403": ("NotAllowed", "The key or session is valid; its role or its scopes are not enough."),
    "404": ("NotFound", "There is no such resource in this project, or no such project."),
    "409": ("Conflict", "The current state does not allow the request; repeating it fails again."),
    "412": ("Changed", "The resource has changed since it was read; `error.current` is its current version."),
    "413": ("TooLarge", "The request exceeds a limit, which the message names."),
    "422": ("Invalid", "The request is not valid: `param` says where, `hint` what to do."),
    "428": ("MatchMissing", "If-Match is missing."),
    "429": ("TooOften", "Too many requests, or too much at once; wait for `Retry-After` seconds."),
    "503": ("Unavailable", "No worker can answer in time; try again after `Retry-After` seconds."),
    "default": (
        "Failed",
        "Any other failure: 500, or 503 while the database or the object store is unavailable.",
    ),
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_COUNTED = frozenset({"signIn", "acceptInvitation", "resetPassword", "updateMe"})
_OPENAI_PREFIX, _WORKER_PREFIX = "/v1/", "/worker/"


def document_errors(
    document: dict[str, Any], dependants: dict[str, Dependant], methods: tuple[str, ...]
) -> None:
    components = document["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["schemas"]["Error"] = ENVELOPE
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    components["responses"] = {
        name: {"description": text, "content": content}
        | ({"headers": _RETRY_AFTER} if status in ("429", "503") else {})
        for status, (name, text) in RESPONSES.items()
    }
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in methods:
                operation["responses"].pop("422", None)
                dependant = dependants[operation["operationId"]]
                for status in (*_statuses(path, method, operation, set(_calls(dependant))), "default"):
                    ref = f"#/components/responses/{RESPONSES[status][0]}"
                    operation["responses"][status] = {"$ref": ref}


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any] | None]:
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from _calls(dependency)


def _statuses(
    path: str, method: str, operation: dict[str, Any], needs: set[Callable[..., Any] | None]
) -> Iterator[str]:
    body, parameters = "requestBody" in operation, operation.get("parameters", [])
    keyed, worker_api, writes = authenticated in needs, path.startswith(_WORKER_PREFIX), method != "get"
    token = body and not keyed and not worker_api
    if body or parameters:
        yield "400" if path.startswith(_OPENAI_PREFIX) else "422"
    if (
        body
        and not path.startswith(_OPENAI_PREFIX)
        and "application/json" not in operation["requestBody"]["content"]
    ):
        yield "400"  # a form that is none
    if keyed or worker_api or operation["operationId"] in _COUNTED:
        yield "401"
    if keyed or (writes and not worker_api) or method == "put":
        yield "403"
    if keyed or token or "{" in path:
        yield "404"
    if worker_api or token or (keyed and writes):
        yield "409"
    if any(parameter["in"] == "header" and parameter["name"] == "if-match" for parameter in parameters):
        yield from ("412", "428")
    if body or (worker_api and method == "put"):
        yield "413"
    if keyed or operation["operationId"] in _COUNTED:
        yield "429"
    if get_calls in needs:
        yield "503"
