"""Breaking changes of the API: each kind, on small documents."""

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
                "properties": {
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "size": {"type": "number"},
                    "mode": {"anyOf": [{"type": "string", "enum": ["x", "y"]}, {"type": "null"}]},
                    "title": {"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}]},
                    "count": {"type": "integer", "minimum": 1, "maximum": 10},
                    "tags": {
                        "type": "object",
                        "additionalProperties": {"$ref": "#/components/schemas/Person"},
                    },
                    "grader": {
                        "oneOf": [
                            {"$ref": "#/components/schemas/Text"},
                            {"$ref": "#/components/schemas/Code"},
                        ]
                    },
                },
                "required": ["kind"],
            },
            "Person": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            },
            "Text": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"type": {"const": "text", "type": "string"}, "text": {"type": "string"}},
            },
            "Code": {
                "type": "object",
                "properties": {
                    "type": {"const": "code", "type": "string"},
                    "parts": {"anyOf": [{"$ref": "#/components/schemas/Code"}, {"type": "null"}]},
                },
            },
            "Thing": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                    "size": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                    "owner": {"anyOf": [{"$ref": "#/components/schemas/Person"}, {"type": "null"}]},
                    "people": {
                        "type": "object",
                        "additionalProperties": {"$ref": "#/components/schemas/Person"},
                    },
                    "grader": {
                        "oneOf": [
                            {"$ref": "#/components/schemas/Text"},
                            {"$ref": "#/components/schemas/Code"},
                        ]
                    },
                    "all": {"allOf": [{"$ref": "#/components/schemas/Person"}, {"type": "object"}]},
                },
                "required": ["id"],
            },
        }
    },
}


def operation(new: Document) -> Document:
    operation_object: Document = new["paths"]["/things/{id}"]["post"]
    return operation_object


def schemas(new: Document) -> Document:
    schemas_object: Document = new["components"]["schemas"]
    return schemas_object


def request_field(new: Document, field: str) -> Document:
    field_schema: Document = schemas(new)["New"]["properties"][field]
    return field_schema


def answered(new: Document, field: str) -> Document:
    field_schema: Document = schemas(new)["Thing"]["properties"][field]
    return field_schema


def renamed(new: Document, union: Document) -> None:
    """A union's member under another name, without one of its fields."""
    other = copy.deepcopy(schemas(new)["Text"])
    other["properties"].pop("text")
    schemas(new)["Words"] = other
    union["oneOf"][0] = {"$ref": "#/components/schemas/Words"}


def without_name(new: Document, *path: str) -> None:
    """The object behind the reference at `path` of an answer, in place, without its name."""
    holder = schemas(new)["Thing"]["properties"]
    for key in path[:-1]:
        holder = holder[int(key)] if key.isdigit() else holder[key]
    last = int(path[-1]) if path[-1].isdigit() else path[-1]
    holder[last] = {"type": "object", "properties": {"age": {"type": "integer"}}}


def required_parameter(new: Document) -> None:
    operation(new)["parameters"].append({"in": "query", "name": "x", "required": True, "schema": {}})


BREAKS: dict[str, tuple[Callable[[Document], Any], str]] = {
    "operation gone": (lambda new: new["paths"].clear(), "is gone"),
    "operation id": (lambda new: operation(new).update(operationId="other"), "operationId"),
    "parameter gone": (lambda new: operation(new)["parameters"].clear(), "wait is gone"),
    "parameter required": (required_parameter, "x is required"),
    "field gone from an answer": (lambda new: schemas(new)["Thing"]["properties"].pop("id"), "answer.id"),
    "field required": (lambda new: schemas(new)["New"]["required"].append("size"), "size: is required"),
    "value gone": (
        lambda new: schemas(new)["New"]["properties"]["kind"].update(enum=["a"]), "no longer takes b"
    ),
    "request narrower": (
        lambda new: schemas(new)["New"]["properties"]["size"].update(type="integer"), "request.size"
    ),
    "answer wider": (
        lambda new: schemas(new)["Thing"]["properties"]["id"].update(type=["string", "null"]), "answer.id: type"
    ),
    "field gone from a nullable object": (
        lambda new: schemas(new)["Person"]["properties"].pop("name"), "owner.name: is gone"
    ),
    "the same, written in place": (
        lambda new: without_name(new, "owner", "anyOf", "0"), "answer.owner.name: is gone"
    ),
    "field gone from what a name maps to": (
        lambda new: without_name(new, "people", "additionalProperties"), "people{}.name"
    ),
    "field gone from a part of all": (
        lambda new: without_name(new, "all", "allOf", "0"), "answer.all.name: is gone"
    ),
    "field gone from a member of a union": (
        lambda new: schemas(new)["Text"]["properties"].pop("text"), "request.grader.text: is gone"
    ),
    "the same in an answer, under another name": (
        lambda new: renamed(new, answered(new, "grader")), "answer.grader.text: is gone"
    ),
    "the same in a request, under another name": (
        lambda new: renamed(new, request_field(new, "grader")), "request.grader.text: is gone"
    ),
    "member of a union gone": (lambda new: request_field(new, "grader")["oneOf"].pop(0), "no longer takes type text"),
    "null gone from a union": (lambda new: request_field(new, "mode")["anyOf"].pop(), "request.mode: type"),
    "value gone beside null": (
        lambda new: request_field(new, "mode")["anyOf"][0].update(enum=["x"]), "request.mode: no longer takes y"
    ),
    "only some values": (lambda new: request_field(new, "size").update(enum=[1, 2]), "request.size: takes only 1, 2"),
    "body required": (lambda new: operation(new)["requestBody"].update(required=True), "request is required"),
    "field no longer always there": (
        lambda new: schemas(new)["Thing"].pop("required"), "id: is not always there"
    ),
    "shorter": (lambda new: request_field(new, "title")["anyOf"][0].update(maxLength=8), "title: maxLength 9 is 8"),
    "longer at least": (
        lambda new: request_field(new, "title")["anyOf"][0].update(minLength=1), "minLength None is 1"
    ),
    "less at most": (lambda new: request_field(new, "count").update(maximum=9), "count: maximum 10 is 9"),
    "more at least": (lambda new: request_field(new, "count").update(minimum=2), "count: minimum 1 is 2"),
    "limit where none was": (
        lambda new: request_field(new, "size").update(exclusiveMaximum=5), "exclusiveMaximum None is 5"
    ),
    "pattern": (
        lambda new: schemas(new)["Text"]["properties"]["text"].update(pattern="^a"), "text: pattern None is ^a"
    ),
    "other fields refused": (
        lambda new: schemas(new)["Person"].update(additionalProperties=False), "takes no other fields"
    ),
    "parameter shorter": (
        lambda new: operation(new)["parameters"][0]["schema"].update(enum=[True]), "wait: takes only True"
    ),
    "status": (
        lambda new: operation(new)["responses"].update({"202": operation(new)["responses"].pop("201")}), "201"
    ),
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
    "errors documented": lambda new: operation(new)["responses"].update(
        {"404": {"$ref": "#/components/responses/NotFound"}, "default": {"description": "Any other failure."}}
    ),
    "value more beside null": lambda new: request_field(new, "mode")["anyOf"][0]["enum"].append("z"),
    "null more in a request": lambda new: request_field(new, "count").update(type=["integer", "null"]),
    "member more": lambda new: [
        side(new, "grader")["oneOf"].append({"type": "object", "properties": {"type": {"const": "new"}}})
        for side in (request_field, answered)
    ],
    "member gone from an answer": lambda new: answered(new, "grader")["oneOf"].pop(0),
    "looser limits": lambda new: [
        request_field(new, "count").update(minimum=0, maximum=11),
        request_field(new, "title")["anyOf"][0].pop("maxLength"),
    ],
    "any value where some were": lambda new: request_field(new, "mode").update(
        anyOf=[{"type": "string", "enum": ["x"]}, {"type": "string"}, {"type": "null"}]
    ),
    "always there": lambda new: schemas(new)["Thing"].update(required=["id", "size"]),
    "demand less": lambda new: schemas(new)["New"].update(required=[]),
}


@pytest.mark.parametrize("name", BREAKS)
def test_breaks(name: str) -> None:
    change, says = BREAKS[name]
    new = copy.deepcopy(OLD)
    change(new)
    breaks = changes(OLD, new)
    assert any(says in line for line in breaks), breaks


@pytest.mark.parametrize("name", HARMLESS)
def test_what_old_clients_never_notice(name: str) -> None:
    new = copy.deepcopy(OLD)
    HARMLESS[name](new)
    assert changes(OLD, new) == []
