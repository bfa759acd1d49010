"""Every operation of the OpenAPI document has an example of its request and answer that fits its schema.

`REINFORGE_WRITE_EXAMPLES=1 pytest tests/backend/site/test_openapi_examples.py` records them anew from a real backend.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from backend.main import create_app
from backend.settings import Settings
from backend.site import openapi
from tests.backend import example_requests
from tests.backend.recording import Recorder
from tests.backend.server import Backend
from tests.backend.tenancy import METHODS

BYTES = "application/octet-stream"
WRITE = os.environ.get("REINFORGE_WRITE_EXAMPLES") == "1"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings()).openapi()


def contents(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What may be sent and answered as JSON, text of events or a form, with the operation's id in its name.

    Bytes have no example.
    """
    for item in document["paths"].values():
        for method, spec in item.items():
            if method not in METHODS:
                continue
            for kind, content in spec.get("requestBody", {}).get("content", {}).items():
                if kind != BYTES:
                    yield f"{spec['operationId']} request {kind}", content
            for status, answer in spec["responses"].items():
                if status.startswith("2"):
                    for kind, content in answer.get("content", {}).items():
                        yield f"{spec['operationId']} {status} {kind}", content


def test_every_operation_has_examples(document: dict[str, Any]) -> None:
    assert [name for name, content in contents(document) if "example" not in content] == []
    assert len(list(contents(document))) > 150


def test_examples_fit_their_schemas(document: dict[str, Any]) -> None:
    wrong = {}
    for name, content in contents(document):
        schema = {**content["schema"], "components": document["components"]}
        errors = list(Draft202012Validator(schema).iter_errors(content.get("example")))
        if errors:
            wrong[name] = [f"{error.json_path}: {error.message[:200]}" for error in errors[:3]]
    assert wrong == {}


def test_operations_have_ids_of_their_own(document: dict[str, Any]) -> None:
    ids = [spec["operationId"] for item in document["paths"].values() for spec in item.values()]
    assert len(ids) == len(set(ids))
    assert set(json.loads(openapi.EXAMPLES.read_text(encoding="utf-8"))) <= set(ids), (
        "examples of what is gone"
    )


def test_examples_hold_no_secrets_of_the_machine_that_made_them() -> None:
    text = openapi.EXAMPLES.read_text(encoding="utf-8")
    for secret in ("worker-secret-for-tests", "rf-test", "/tmp/", "127.0.0.1"):
        assert secret not in text, secret


@pytest.mark.skipif(not WRITE, reason="only to record them anew")
def test_record(module_database_url: str, tmp_path: Path) -> None:
    examples: dict[str, dict[str, Any]] = {}
    backend = Backend(module_database_url, tmp_path / "home")
    backend.app.add_middleware(Recorder, examples=examples)
    with backend:
        backend.register()
        example_requests.make_all(backend, examples)
    openapi.EXAMPLES.write_text(
        json.dumps(examples, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )
