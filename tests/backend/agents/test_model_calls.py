"""Model calls of rollouts: from a program over its key to the trainer and back."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.backend.agents.rollouts import HELLO, agent_trainer, answer, offer, refuse, take, work
from tests.backend.server import Backend, Trainer, wait_until

pytestmark = pytest.mark.usefixtures("rpc_backend")


@pytest.fixture
def trainer(backend: Backend) -> Trainer:
    return agent_trainer(backend)


def program(backend: Backend, task: dict[str, Any]) -> httpx.Client:
    return backend.client(task["api_key"], "/v1/rollout")


def test_a_call_is_answered_by_the_trainer_of_its_rollout(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    with program(backend, task) as client, ThreadPoolExecutor(1) as pool:
        headers = {"x-stainless-retry-count": "1"}
        asking = pool.submit(client.post, "/chat/completions", json=HELLO, headers=headers)
        [call] = work(trainer)["calls"]
        assert (call["kind"], call["caller"]) == ("chat", task["rollout_id"])
        assert call["payload"]["messages"] == HELLO["messages"]
        assert (call["payload"]["try_no"], call["payload"]["retry_count"]) == (1, 1)
        assert answer(trainer, call["id"], reasoning_content="so").json() == {"abandoned": []}
        completion = asking.result(20).json()
    assert completion["choices"][0]["message"]["content"] == "hi"
    assert completion["choices"][0]["message"]["reasoning_content"] == "so"
    assert completion["usage"]["total_tokens"] == 5
    assert backend.sql("SELECT 1 FROM model_call WHERE id = %s", call["id"]) == []


def test_a_reply_that_was_lost_is_sent_again(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    with program(backend, task) as client, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(client.post, "/chat/completions", json=HELLO)
        [call] = work(trainer)["calls"]
        assert [again["id"] for again in work(trainer)["calls"]] == [call["id"]]
        assert work(trainer, 0, received_calls=[call["id"]])["calls"] == []
        answer(trainer, call["id"])
        asking.result(20)


def test_a_caller_that_hung_up_is_forgotten(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    with program(backend, task) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/chat/completions", json=HELLO, timeout=0.5)
        [call] = work(trainer)["calls"] or [{"id": "mcall_none"}]
        wait_until(
            lambda: not backend.sql("SELECT 1 FROM model_call WHERE caller = %s", task["rollout_id"]), "it"
        )
    assert answer(trainer, call["id"]).json() == {"abandoned": [call["id"]]}
    assert work(trainer, 0)["calls"] == []


def test_calls_of_many_rollouts_are_taken_by_turns(backend: Backend, trainer: Trainer) -> None:
    offer(trainer, 2)
    busy, quiet = take(backend, trainer, 2)
    with ThreadPoolExecutor(5) as pool, program(backend, busy) as one, program(backend, quiet) as two:
        asking = [pool.submit(one.post, "/chat/completions", json=HELLO) for _ in range(4)]
        wait_until(lambda: len(work(trainer, 0)["calls"]) == 4, "four calls")
        asking.append(pool.submit(two.post, "/chat/completions", json=HELLO))
        wait_until(lambda: len(work(trainer, 0)["calls"]) == 5, "five calls")
        calls = work(trainer, 0)["calls"]
        for call in calls:
            answer(trainer, call["id"])
        assert [request.result(20).status_code for request in asking] == [200] * 5
    assert calls[1]["caller"] == quiet["rollout_id"]


def test_a_spent_budget_is_not_tried_again(backend: Backend, trainer: Trainer) -> None:
    """OpenAI's client repeats a 429 unless it is told not to."""
    offer(trainer)
    [task] = take(backend, trainer)
    with program(backend, task) as client, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(client.post, "/chat/completions", json=HELLO)
        [call] = work(trainer)["calls"]
        refuse(trainer, call["id"], "max_model_calls")
        refused = asking.result(20)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rollout_budget")
    assert refused.headers["x-should-retry"] == "false"


REFUSED_IN_CHAT: dict[str, Any] = {
    "n": 2, "logprobs": True, "stop": "x", "tool_choice": "required", "presence_penalty": 1.0,
    "frequency_penalty": 1.0, "logit_bias": {"1": 1.0}, "response_format": {"type": "json_object"},
    "functions": [{"name": "f"}], "function_call": "auto", "modalities": ["audio"], "audio": {"voice": "a"},
    "prediction": {"type": "content"}, "web_search_options": {"search_context_size": "low"},
    "moderation": {"model": "m"},
}  # fmt: skip
QUESTION = {"model": "policy", "input": "hello"}
REFUSED_IN_RESPONSES: dict[str, Any] = {"previous_response_id": "resp_1", "tool_choice": "required"}


def test_what_a_rollout_cannot_ask_for(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    calls = [("/chat/completions", HELLO, field, value) for field, value in REFUSED_IN_CHAT.items()]
    calls += [("/responses", QUESTION, field, value) for field, value in REFUSED_IN_RESPONSES.items()]
    with program(backend, task) as client:
        for path, body, field, value in calls:
            refused = client.post(path, json=body | {field: value})
            assert refused.status_code == 400, field
            assert refused.json()["error"]["param"] == field
            assert refused.json()["error"]["code"] == "unsupported_parameter"
        unnamed = client.post("/responses", json=QUESTION | {"frequency_penalty": 1.0})
        assert (unnamed.status_code, unnamed.json()["error"]["param"]) == (400, "frequency_penalty")
    assert work(trainer, 0)["calls"] == []


def test_a_response_is_the_same_call_as_a_completion(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    with program(backend, task) as client, ThreadPoolExecutor(2) as pool:
        body = QUESTION | {"max_output_tokens": 7, "store": True, "temperature": 0.1}
        asking = pool.submit(client.post, "/responses", json=body)
        [call] = work(trainer)["calls"]
        answer(trainer, call["id"], reasoning_content="so")
        response = asking.result(20).json()
        streaming = pool.submit(client.post, "/responses", json=body | {"stream": True})
        [again] = work(trainer)["calls"]
        refuse(trainer, again["id"], "max_model_calls")
        refused = streaming.result(20)
    payload = call["payload"]
    assert (call["kind"], payload["messages"], payload["tools"]) == ("chat", HELLO["messages"], None)
    assert payload["max_tokens"] == 7
    assert [item["type"] for item in response["output"]] == ["reasoning", "message"]
    assert (response["status"], response["usage"]["total_tokens"]) == ("completed", 5)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rollout_budget")


def test_a_stream_is_the_answer_in_one_piece(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    with program(backend, task) as client, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(client.post, "/chat/completions", json=HELLO | {"stream": True})
        [call] = work(trainer)["calls"]
        answer(trainer, call["id"])
        lines = asking.result(20).text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    assert '"content":"hi"' in lines[0] and '"finish_reason":"stop"' in lines[1]


def test_the_key_opens_its_rollout_alone(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    with backend.client(task["api_key"]) as client:
        for path in ("/api/v1/jobs", "/api/v1/me", "/v1/models"):
            refused = client.get(path)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "rollout_key"), path
    owner = backend.bare.post(
        "/v1/rollout/chat/completions", json=HELLO, headers=dict(backend.api.headers.items())
    )
    assert (owner.status_code, owner.json()["error"]["code"]) == (403, "rollout_key_needed")


def test_calls_end_with_the_attempt(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    with program(backend, task) as client, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(client.post, "/chat/completions", json=HELLO)
        [call] = work(trainer)["calls"]
        trainer.end("failed", reason="broken")
        late = asking.result(20)
        assert (late.status_code, late.json()["error"]["code"]) == (409, "rollout_ended")
        again = client.post("/chat/completions", json=HELLO)
    assert again.json()["error"]["code"] == "rollout_ended"
    assert answer(trainer, call["id"]).json()["error"]["code"] == "lease_lost"
