"""Errors in the OpenAPI document equal those that the server sends."""

import inspect
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from backend.main import create_app
from backend.settings import Settings
from reinforge import errors
from tests.backend.access.test_auth import OPEN
from tests.backend.server import OWNER_KEY, Backend
from tests.backend.tenancy import needs_match, operations

METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings()).openapi()


def answers(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Method and path → the documented answers by status."""
    return {
        (method, path): spec["responses"]
        for path, item in document["paths"].items()
        for method, spec in item.items()
        if method in METHODS
    }


def test_every_error_is_the_envelope(document: dict[str, Any]) -> None:
    assert not {"HTTPValidationError", "ValidationError"} & document["components"]["schemas"].keys()
    for where, responses in answers(document).items():
        assert "default" in responses, where
        for status, answer in responses.items():
            if status.startswith(("4", "default")):
                name = answer["$ref"].removeprefix("#/components/responses/")
                content = document["components"]["responses"][name]["content"]
                assert content == {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


def test_what_is_not_valid_is_422_and_400_on_openais_wire(document: dict[str, Any]) -> None:
    for (method, path), responses in answers(document).items():
        spec = document["paths"][path][method]
        if "requestBody" in spec or spec.get("parameters"):
            assert ("422" in responses) == (not path.startswith("/v1/")), path
            assert "400" in responses or not path.startswith("/v1/"), path


def test_what_needs_a_key_says_so_and_nothing_else_does(document: dict[str, Any]) -> None:
    checked = 0
    for (method, path), responses in answers(document).items():
        if path.startswith(("/api/v1", "/v1")) and path not in OPEN:
            assert {"401", "403", "404"} <= responses.keys(), (method, path)
            checked += 1
    assert checked > 100
    assert "401" not in answers(document)["get", "/healthz"]
    assert "403" in answers(document)["put", "/worker/v1/blobs/{sha256}"]


def test_edits_and_only_they_may_have_come_too_late(backend: Backend) -> None:
    for operation in operations(backend):
        assert ({"412", "428"} <= operation.spec["responses"].keys()) == needs_match(operation), operation.id


@pytest.mark.parametrize(
    "kind",
    [
        error_class
        for error_class in vars(errors).values()
        if inspect.isclass(error_class) and issubclass(error_class, Exception)
    ],
)
def test_every_error_of_the_tree_fits_the_schema(
    kind: type[errors.ReinforgeError], document: dict[str, Any]
) -> None:
    details: dict[str, Any] = (
        {"code": "x"} if kind is errors.JobFailure else {"current": {"a": 1}, "errors": []}
    )
    fits(kind("No.", hint="Yes.", **details).envelope("req_1"), document)


def fits(answer: dict[str, Any], document: dict[str, Any]) -> None:
    schema = {"$ref": "#/components/schemas/Error", "components": document["components"]}
    strict = document["components"]["schemas"]["Error"]["properties"]["error"]
    assert answer["error"].keys() <= strict["properties"].keys()
    for error in answer["error"]["errors"]:
        assert error.keys() <= strict["properties"]["errors"]["items"]["properties"].keys()
    Draft202012Validator(schema).validate(answer)


def test_what_is_sent_fits_the_schema(rpc_backend: Backend, document: dict[str, Any]) -> None:
    sent = [
        rpc_backend.bare.get("/api/v1/jobs"),
        rpc_backend.api.get("/jobs/none"),
        rpc_backend.api.post("/jobs", json={"nonsense": True}),
        rpc_backend.api.post("/webhooks", content=b"{"),
        rpc_backend.api.patch("/me", json={}),
        rpc_backend.api.get("/nowhere"),
    ]
    assert {response.status_code for response in sent} >= {401, 404, 422}
    for response in sent:
        if response.status_code >= 400:
            fits(response.json(), document)


def test_a_nul_in_the_address_is_400_on_openais_wire(backend: Backend) -> None:
    headers = {"authorization": f"Bearer {OWNER_KEY}"}
    with httpx.Client(base_url=backend.url, headers=headers) as client:
        for path, status in (("/v1/files?after=%00", 400), ("/api/v1/jobs?after=%00", 422)):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, "nul_character")
