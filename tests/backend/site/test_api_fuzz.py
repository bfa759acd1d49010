"""The native API against its own OpenAPI document: schemathesis sends what the document allows and what it does not.

Bounded: a few examples of every operation, the same in every run. No answer may be a failure of the server's own.
Status, headers, content type and body have to be what the document says of the operation; what it forbids has to be
refused. `default` does not count: every status has to be documented by name. (`/v1` is held to OpenAI's schema by tests
of its own.)
"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi import checks

from tests.backend.api_document import api_document
from tests.backend.server import OWNER_KEY, Backend
from tests.backend.tenancy import METHODS, PLACES, Operation, Stranger

WAITING = {"sample"}
"""Besides the streams: answers for as long as somebody listens."""
CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]


def without_default(document: dict[str, Any]) -> dict[str, Any]:
    strict = copy.deepcopy(document)
    for item in strict["paths"].values():
        for operation in item.values():
            operation["responses"].pop("default")
    return strict


document = without_default(api_document())
schema = schemathesis.openapi.from_dict(document)
schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


@pytest.fixture(scope="module")
def rpc_backend(backend: Backend) -> Iterator[Backend]:
    """The backend with a worker that says which calls it answers, so that others are refused at once."""
    with backend.rpc_worker() as rpc_worker:
        backend.register(rpc_worker.worker, "calls", answers=list(rpc_worker.answers))
        yield backend


@pytest.fixture(scope="module")
def stranger(rpc_backend: Backend) -> Iterator[Stranger]:
    """A project that has one of everything, in whose place random ids would find nothing."""
    other = Stranger(rpc_backend)
    yield other
    other.api.close()
    other.us.close()


def operations(*methods: str) -> list[Any]:
    parameters = []
    for result in schema.get_all_operations():
        operation = result.ok()
        id = str(operation.definition.raw.get("operationId"))
        covered = operation.path.startswith("/api/v1") and id not in WAITING and "tream" not in id
        if covered and operation.method in (methods or METHODS):
            parameters.append(pytest.param(operation, id=id))
    return parameters


def check(case: Any, url: str, authorization: str) -> None:
    response = case.call(base_url=url, headers={"authorization": authorization}, timeout=20)
    # 503: no worker is there to answer.
    assert response.status_code < 500 or response.status_code == 503, (case.as_curl_command(), response.text)
    assert response.headers.get("x-request-id"), case.as_curl_command()
    case.validate_response(response, checks=CHECKS)


def examples(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("operation", operations("get"))
def test_what_is_there_is_answered_as_documented(stranger: Stranger, operation: Any) -> None:
    """Reading, with the ids of things that are there; first, while they are."""
    named = Operation(str(operation.definition.raw["operationId"]), "get", operation.path, {})
    places = {name: PLACES.get(name) or stranger.things[room] for room, name in named.params}
    if operation.path.startswith("/api/v1/uploads"):
        places["id"] = stranger.numbered

    @examples(2)
    @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    def send(case: Any) -> None:
        case.path_parameters = places
        check(case, stranger.backend.url, stranger.api.headers["authorization"])

    send()


@pytest.mark.parametrize("operation", operations())
def test_every_answer_is_one_that_the_api_knows(backend: Backend, operation: Any) -> None:
    @examples(3)
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        check(case, backend.url, f"Bearer {OWNER_KEY}")

    send()
    me = backend.api.get("/me")
    assert me.status_code == 200, "the key was lost, so that what follows would test nothing"
