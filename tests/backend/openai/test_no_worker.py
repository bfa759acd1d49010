"""A job that no worker can check."""

import time

from tests.backend.openai.requests import body
from tests.backend.openai.test_files import refused
from tests.backend.server import OWNER_KEY, Backend


def test_it_is_a_503_that_clients_try_again(backend: Backend) -> None:
    with backend.client(OWNER_KEY, "/v1") as wire:
        answer = wire.post("/fine_tuning/jobs", json=body(backend))
    refused(answer, 503, "no_worker", None)
    assert answer.headers["retry-after"]
    assert backend.count_jobs() == 0


def test_a_worker_without_torch_is_nobody_to_chat_with(backend: Backend) -> None:
    """It answers checks and scores; who asks for a completion is told at once, not after the time-out."""
    chat = {"model": backend.add_model(), "messages": [{"role": "user", "content": "1+1="}]}
    worker = backend.register("wrk_no_torch", "calls", ["render", "score", "validate"])
    try:
        [worker_view] = [item for item in backend.api.get("/workers").json()["data"] if item["id"] == worker]
        assert worker_view["answers"] == ["render", "score", "validate"]
        began = time.monotonic()
        with backend.client(OWNER_KEY, "/v1") as wire:
            for body in (chat, chat | {"stream": True}):
                answer = wire.post("/chat/completions", json=body)
                refused(answer, 503, "no_worker", None)
                assert "reinforge[train]" in answer.json()["error"]["hint"]
        play = {"model": "tiny", "prompts": [chat["messages"]]}
        assert backend.api.post("/sample", json=play).status_code == 503
        assert time.monotonic() - began < 10
    finally:
        backend.sql("DELETE FROM worker WHERE id = %s", worker)
