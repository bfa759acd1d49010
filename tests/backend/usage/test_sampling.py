"""Usage and budgets of sampling on demand: chat, deployments, the playground, evaluations."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.backend.evaluations.sampler import sampler
from tests.backend.openai.chat_request import BODY as CHAT
from tests.backend.openai.chat_request import Chat, delta, done, prompt
from tests.backend.people import made, refusal
from tests.backend.playground.player import BODY as SAMPLE
from tests.backend.playground.player import Client, Player, player
from tests.backend.server import OWNER_KEY, REWARD, Backend, wait_until
from tests.backend.usage.counted import of, usage

WORKING = 0.4
"""Seconds between a worker's first word and its last."""


@pytest.fixture
def worker(backend: Backend) -> Iterator[Player]:
    backend.add_model()
    with player(backend) as playing:
        yield playing
    backend.sql("DELETE FROM deployment")
    backend.sql("DELETE FROM usage")


def complete_call(worker: Player, *events: dict[str, Any]) -> None:
    """A worker that takes WORKING seconds between the prompt's length and these events."""
    worker.tell(1, prompt(7))
    time.sleep(WORKING)
    worker.tell(2, *events)


def deployed(backend: Backend, worker: Player) -> str:
    id = made(backend.api.post("/deployments", json={"name": "support", "model": "tiny"}))["id"]
    worker.take()
    worker.answer(result={})
    wait_until(lambda: backend.api.get(f"/deployments/{id}").json()["state"] == "ready", "the deployment")
    return str(id)


def ended(backend: Backend, id: str) -> dict[str, Any]:
    def finished() -> dict[str, Any] | None:
        view: dict[str, Any] = backend.api.get(f"/evaluations/{id}").json()
        return view if view["status"] != "running" else None

    evaluation: dict[str, Any] = wait_until(finished, "the evaluation")
    return evaluation


def test_a_deployments_tokens_and_time_are_counted_under_its_name(backend: Backend, worker: Player) -> None:
    id = deployed(backend, worker)
    chat = Chat(backend, model="support", n=2)
    worker.take()
    complete_call(worker, done("2", 3), done("two", 4, sample=1))
    worker.answer(result={})
    chat.json()
    amounts = of(backend, id)
    assert (amounts["served_input_tokens"], amounts["served_output_tokens"]) == (7, 7)
    assert WORKING <= amounts["device_seconds"] < WORKING + 5
    assert [(source_row["source"], source_row["name"]) for source_row in usage(backend)["sources"]] == [
        (id, "support")
    ]


def test_waiting_for_a_worker_is_nobodys_time(backend: Backend, worker: Player) -> None:
    chat = Chat(backend)
    time.sleep(2 * WORKING)
    worker.take()
    worker.tell(1, prompt(7), done("2", 2))
    worker.answer(result={})
    chat.json()
    amounts = of(backend, "tiny")
    assert amounts["served_output_tokens"] == 2
    assert amounts.get("device_seconds", 0) < WORKING


def test_loading_a_deployment_is_time(backend: Backend, worker: Player) -> None:
    id = made(backend.api.post("/deployments", json={"name": "support", "model": "tiny"}))["id"]
    worker.take()
    worker.tell(1, {"type": "status", "message": "Loading tiny"})
    time.sleep(WORKING)
    worker.answer(result={})
    wait_until(lambda: of(backend, id).get("device_seconds", 0) >= WORKING, "the time of loading")


def test_the_playgrounds_tokens_and_time_are_counted_also_of_what_is_left_in_the_middle(
    backend: Backend, worker: Player
) -> None:
    client = Client(backend, samples_per_prompt=2)
    client.start()
    worker.take()
    complete_call(worker, done("2", 3), done("two", 5, sample=1))
    worker.answer(result={})
    assert client.end()["type"] == "end"
    amounts = of(backend, "tiny")
    assert amounts["sampled_tokens"] == 8
    assert WORKING <= amounts["device_seconds"] < WORKING + 5
    client = Client(backend)
    client.start()
    worker.take()
    worker.tell(1, delta("2", 6))
    wait_until(client.texts, "the first piece")
    client.hang_up()
    wait_until(lambda: of(backend, "tiny")["sampled_tokens"] == 14, "what came before the client left")


def evaluation(backend: Backend, **fields: Any) -> dict[str, Any]:
    rows = [{"prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(40)]
    return {
        "kind": "stand_alone", "model": backend.add_model(), "dataset": backend.add_dataset(rows),
        "source": REWARD, "name": "nightly",
    } | fields  # fmt: skip


def test_an_evaluation_counts_what_it_samples_and_stops_between_batches(
    rpc_backend: Backend, budget: Any
) -> None:
    with sampler(rpc_backend) as worker:
        worker.gate = type(worker.gate)(1)
        body = evaluation(rpc_backend, samples_per_row=2)
        id = made(rpc_backend.api.post("/evaluations", json=body))["id"]
        wait_until(lambda: of(rpc_backend, id).get("sampled_tokens") == 16 * 2 * 3, "the first batch")
        [named] = [
            source_row["name"] for source_row in usage(rpc_backend)["sources"] if source_row["source"] == id
        ]
        assert named == "nightly"
        budget("sampled_tokens", 20)
        worker.gate.release(100)
        stopped = ended(rpc_backend, id)
        assert (stopped["status"], stopped["error"]["code"]) == ("failed", "budget_exceeded")
        assert "/resume" in stopped["error"]["hint"]
        assert stopped["done"] < stopped["total"] == 80

        assert refusal(rpc_backend.api.post(f"/evaluations/{id}/resume")) == (409, "budget_exceeded")
        assert rpc_backend.api.get(f"/evaluations/{id}").json()["status"] == "failed"
        before = rpc_backend.sql("SELECT count(*) FROM evaluation")
        refused = rpc_backend.api.post("/evaluations", json=body)
        assert refusal(refused) == (409, "budget_exceeded")
        assert rpc_backend.sql("SELECT count(*) FROM evaluation") == before

        budget("sampled_tokens", 1e9)
        made(rpc_backend.api.post(f"/evaluations/{id}/resume"), 200)
        assert ended(rpc_backend, id)["status"] == "succeeded"
    assert of(rpc_backend, id)["sampled_tokens"] == 80 * 3, "no batch was sampled twice"


@pytest.mark.parametrize("kind", ["served_output_tokens", "served_input_tokens", "device_seconds"])
def test_chat_is_refused_when_serving_has_used_its_budget_up(
    rpc_backend: Backend, worker: Player, budget: Any, kind: str
) -> None:
    id = deployed(rpc_backend, worker)
    budget(kind, 0)
    with rpc_backend.client(OWNER_KEY, "/v1") as wire:
        for body in (CHAT, CHAT | {"model": "support"}, CHAT | {"stream": True}):
            answer = wire.post("/chat/completions", json=body)
            assert refusal(answer) == (409, "budget_exceeded")
            assert answer.headers["x-should-retry"] == "false"
            assert "Settings" in answer.json()["error"]["hint"]
    assert rpc_backend.sql("SELECT count(*) FROM call WHERE kind = 'sample'") == [(0,)]
    assert rpc_backend.sql("SELECT requests FROM deployment WHERE id = %s", id) == [(0,)]


def test_budgets_of_other_work_leave_chat_and_playground_alone(
    rpc_backend: Backend, worker: Player, budget: Any
) -> None:
    for kind in ("trained_tokens", "judge_spend"):
        budget(kind, 0)
    budget("storage_bytes", 0, "total")
    budget("sampled_tokens", 0)
    chat = Chat(rpc_backend)
    worker.take()
    worker.tell(1, done("2", 2))
    worker.answer(result={})
    assert chat.end().status_code == 200
    budget("sampled_tokens", 1e9)
    budget("served_output_tokens", 0)
    client = Client(rpc_backend)
    client.start()
    worker.take()
    worker.answer(result={})
    assert client.end()["type"] == "end"


@pytest.mark.parametrize("kind", ["sampled_tokens", "device_seconds"])
def test_the_playground_is_refused_when_sampling_has_used_its_budget_up(
    rpc_backend: Backend, worker: Player, budget: Any, kind: str
) -> None:
    budget(kind, 0)
    assert refusal(rpc_backend.api.post("/sample", json=SAMPLE)) == (409, "budget_exceeded")
