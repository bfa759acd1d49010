"""The native API against its own OpenAPI document: schemathesis sends what the document allows and what it does not.

Bounded: a few examples of every operation, the same in every run. No answer may be a failure of the server's own, and
every error has the one envelope with a request id. (`/v1` is held to OpenAI's schema by tests of its own.)
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode

from backend.main import create_app
from tests.backend.server import OWNER_KEY, Backend

WAITING = {"sample"}
"""Besides the streams: answers for as long as somebody listens."""
document = create_app().openapi()
schema = schemathesis.openapi.from_dict(document)
schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


@pytest.fixture(scope="module")
def backend(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with Backend(module_database_url, tmp_path_factory.mktemp("home")) as running:
        yield running


def operations() -> list[Any]:
    found = []
    for result in schema.get_all_operations():
        operation = result.ok()
        id = str(operation.definition.raw.get("operationId"))
        if operation.path.startswith("/api/v1") and id not in WAITING and "tream" not in id:
            found.append(pytest.param(operation, id=id))
    return found


@pytest.mark.parametrize("operation", operations())
def test_every_answer_is_one_that_the_api_knows(backend: Backend, operation: Any) -> None:
    headers = {"authorization": f"Bearer {OWNER_KEY}"}

    @settings(
        max_examples=3,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        response = case.call(base_url=backend.url, headers=headers, timeout=20)
        # 503: no worker is there to answer.
        assert response.status_code < 500 or response.status_code == 503, (
            case.as_curl_command(),
            response.text,
        )
        assert response.headers.get("x-request-id"), case.as_curl_command()
        if response.status_code >= 400:
            error = response.json()["error"]
            assert error["message"], case.as_curl_command()
            assert {"type", "code", "param", "hint", "request_id"} <= error.keys()

    send()
    me = backend.api.get("/me")
    assert me.status_code == 200, "the key was lost, so that what follows would test nothing"
