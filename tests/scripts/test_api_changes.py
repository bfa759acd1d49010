"""What counts as a break of the API: each kind, on small documents."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from scripts.api_changes import changes

Document = dict[str, Any]

OLD: Document = {
    "paths": {
        "/things/{id}": {
            "post": {
                "operationId": "makeThing",
                "parameters": [{"in": "query", "name": "wait", "schema": {"type": "boolean"}}],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/New"}}}
                },
                "responses": {
                    "201": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}
                    }
                },
            }
        }
    },
    "components": {
        "schemas": {
            "New": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "size": {"type": "number"}},
                "required": ["kind"],
            },
            "Thing": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                    "size": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                },
            },
        }
    },
}


def operation(new: Document) -> Document:
    found: Document = new["paths"]["/things/{id}"]["post"]
    return found


def schemas(new: Document) -> Document:
    found: Document = new["components"]["schemas"]
    return found


def required_parameter(new: Document) -> None:
    operation(new)["parameters"].append({"in": "query", "name": "x", "required": True, "schema": {}})


BREAKS: dict[str, tuple[Callable[[Document], Any], str]] = {
    "operation gone": (lambda new: new["paths"].clear(), "is gone"),
    "operation id": (lambda new: operation(new).update(operationId="other"), "operationId"),
    "parameter gone": (lambda new: operation(new)["parameters"].clear(), "wait is gone"),
    "parameter required": (required_parameter, "x is required"),
    "field gone from an answer": (lambda new: schemas(new)["Thing"]["properties"].pop("id"), "answer.id"),
    "field required": (lambda new: schemas(new)["New"]["required"].append("size"), "size: is required"),
    "value gone": (lambda new: schemas(new)["New"]["properties"]["kind"].update(enum=["a"]), "no longer takes b"),
    "request narrower": (lambda new: schemas(new)["New"]["properties"]["size"].update(type="integer"), "request.size"),
    "answer wider": (
        lambda new: schemas(new)["Thing"]["properties"]["id"].update(type=["string", "null"]), "answer.id: type"
    ),
    "status": (lambda new: operation(new)["responses"].update({"202": operation(new)["responses"].pop("201")}), "201"),
}  # fmt: skip

HARMLESS: dict[str, Callable[[Document], Any]] = {
    "nothing": lambda new: None,
    "operation more": lambda new: new["paths"].update({"/more": {"get": {"responses": {}}}}),
    "optional field in a request": lambda new: schemas(new)["New"]["properties"].update(
        more={"type": "string"}
    ),
    "field in an answer": lambda new: schemas(new)["Thing"]["properties"].update(more={"type": "string"}),
    "value more": lambda new: schemas(new)["New"]["properties"]["kind"]["enum"].append("c"),
    "answer narrower": lambda new: schemas(new)["Thing"]["properties"].update(size={"type": "number"}),
    "demand less": lambda new: schemas(new)["New"].update(required=[]),
}


@pytest.mark.parametrize("name", BREAKS)
def test_breaks(name: str) -> None:
    change, says = BREAKS[name]
    new = copy.deepcopy(OLD)
    change(new)
    found = changes(OLD, new)
    assert any(says in each for each in found), found


@pytest.mark.parametrize("name", HARMLESS)
def test_what_old_clients_never_notice(name: str) -> None:
    new = copy.deepcopy(OLD)
    HARMLESS[name](new)
    assert changes(OLD, new) == []
