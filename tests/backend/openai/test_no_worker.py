"""A job that no worker can check."""

from tests.backend.openai.requests import body
from tests.backend.openai.test_files import refused
from tests.backend.server import OWNER_KEY, Backend


def test_it_is_a_503_that_clients_try_again(backend: Backend) -> None:
    with backend.client(OWNER_KEY, "/v1") as wire:
        answer = wire.post("/fine_tuning/jobs", json=body(backend))
    refused(answer, 503, "no_worker", None)
    assert answer.headers["retry-after"]
    assert backend.count_jobs() == 0
