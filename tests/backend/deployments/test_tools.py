"""Deployments that run the tools of their job, with a scripted worker."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from psycopg.types.json import Jsonb

from tests.backend.openai.chat_request import CHUNK, COMPLETION, USER, Chat, done, prompt
from tests.backend.openai.schemas import checked
from tests.backend.playground.player import Player, player
from tests.backend.server import Backend, refused

ADD = 'def add(a: int, b: int, *, item: dict) -> int:\n    """Add."""\n    return a + b\n'
GAME = """
class Game:
    def reset(self, **row):
        return "Begin."

    def play(self) -> int:
        '''Play.'''
        return 1
"""
CALL = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 1}}</tool_call>'
PAST = {"source": 0, "name": "add", "arguments": {"a": 1, "b": 1}, "status": "ok", "text": "2"}
RESULT = {
    "id": "call_0",
    "name": "add",
    "arguments": '{"a": 1, "b": 1}',
    "status": "ok",
    "result": "2",
    "milliseconds": 3.0,
}


def environment(kind: str = "python", source: str = ADD, **limits: Any) -> dict[str, Any]:
    return {"type": "tools", "sources": [{"type": kind, "source": source}], **limits}


@pytest.fixture(scope="module")
def checkpoint(rpc_backend: Backend) -> dict[str, Any]:
    """The last one of a finished job."""
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    trainer.start(steps=1)
    trainer.step(1)
    trainer.checkpoint(1, reward=0.1, final=True)
    trainer.end("succeeded")
    [checkpoint] = rpc_backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]
    return dict(checkpoint)


@pytest.fixture
def worker(backend: Backend) -> Iterator[Player]:
    backend.add_model()
    with player(backend) as worker:
        yield worker
    backend.sql("DELETE FROM deployment")
    backend.sql("DELETE FROM call")


def create(
    backend: Backend, checkpoint: dict[str, Any], tools: dict[str, Any] | None, **fields: Any
) -> httpx.Response:
    """tools: environment of the checkpoint's job."""
    backend.sql(
        "UPDATE job SET resolved_spec = jsonb_set(resolved_spec, '{environment}', %s) WHERE id = %s",
        Jsonb(tools or {"type": "single_turn"}),
        checkpoint["job"],
    )
    body = {"name": "clerk", "checkpoint": checkpoint["id"], "run_tools": True} | fields
    return backend.api.post("/deployments", json=body)


def deploy(
    backend: Backend, worker: Player, checkpoint: dict[str, Any], tools: dict[str, Any] | None = None
) -> None:
    answer = create(backend, checkpoint, tools or environment())
    assert answer.status_code == 201, answer.text
    worker.take()
    worker.answer(result={})


def write(worker: Player, text: str, tokens: int = 5, reason: str = "stop") -> dict[str, Any]:
    """The model's turn; returns what the worker got."""
    payload = worker.take()
    worker.tell(1, prompt(7), done(text, tokens, reason))
    worker.answer(result={})
    return payload


def run_tools(worker: Player, *results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Results of a turn's calls; returns the request."""
    run: dict[str, Any] = worker.take("run_tools")["run"]
    worker.answer(result={"calls": list(results), "state": '{"n": 1}', "history": [PAST], **fields})
    return run


def test_tools_run_until_the_model_answers(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint)
    assert backend.api.get("/deployments/clerk").json()["tools"] == ["add"]
    chat = Chat(backend, model="clerk", metadata={"customer": "7"}, max_tokens=50)
    first = write(worker, f"I add. {CALL}", tokens=20)
    ran = run_tools(worker, RESULT)
    second = write(worker, "It is 2.", tokens=10)
    completion = chat.json()
    trace = completion.pop("trace")
    checked(completion, COMPLETION)
    [choice] = completion["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("It is 2.", "stop")
    assert completion["usage"] == {"prompt_tokens": 14, "completion_tokens": 30, "total_tokens": 44}

    assert [tool["function"]["name"] for tool in first["tools"]] == ["add"] and first["prompts"] == [[USER]]
    assert [(call["name"], json.loads(call["arguments"])) for call in ran["calls"]] == [
        ("add", {"a": 1, "b": 1})
    ]
    assert (ran["item"], ran["turn"], ran["model"]) == ({"customer": "7"}, 0, "tiny")
    assert [message["role"] for message in second["prompts"][0]] == ["user", "assistant", "tool"]
    assert second["prompts"][0][1]["tool_calls"][0]["function"]["arguments"] == {"a": 1, "b": 1}
    assert second["prompts"][0][2]["content"] == "2" and second["max_tokens"] == 30

    assert trace["end"] == "stop"
    assert [(message["role"], message.get("status")) for message in trace["messages"]] == [
        ("assistant", None), ("tool", "ok"), ("assistant", None),
    ]  # fmt: skip
    assert backend.api.get("/deployments/clerk").json()["usage"]["requests"] == 1


def test_state_and_history_go_from_turn_to_turn(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint, environment(max_turns=2))
    chat = Chat(backend, model="clerk")
    write(worker, CALL)
    run_tools(worker, RESULT)
    write(worker, CALL)
    again = run_tools(worker, RESULT, end="max_turns")
    assert (again["state"], again["history"], again["calls_before"], again["turn"]) == (
        '{"n": 1}',
        [PAST],
        1,
        1,
    )
    completion = chat.json()
    assert (completion["choices"][0]["finish_reason"], completion["trace"]["end"]) == ("length", "max_turns")


def test_a_call_that_cannot_be_read_is_answered_with_its_error(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint)
    chat = Chat(backend, model="clerk")
    broken = CALL.replace("}}", "}")
    write(worker, broken)
    run = run_tools(worker, RESULT | {"status": "invalid_json", "result": "Error: …"})
    assert run["calls"][0]["error"]
    second = write(worker, "I do not know.")
    assert second["prompts"][0][1:] == [
        {"role": "assistant", "content": broken},
        {"role": "tool", "tool_call_id": "call_0", "name": "add", "content": "Error: …"},
    ]
    assert chat.json()["choices"][0]["message"]["content"] == "I do not know."


def test_a_class_begins_with_what_reset_returns(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint, environment("class", GAME))
    chat = Chat(backend, model="clerk")
    assert run_tools(worker, start={"status": "ok", "text": "Begin."})["start"]
    payload = write(worker, "Done.")
    assert payload["prompts"] == [[{"role": "user", "content": "1+1=\n\nBegin."}]]
    assert chat.json()["choices"][0]["message"]["content"] == "Done."


def test_a_class_that_cannot_begin_is_an_error(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint, environment("class", GAME))
    chat = Chat(backend, model="clerk")
    run_tools(worker, start={"status": "exception", "text": "KeyError: 'word'"})
    assert chat.end().status_code == 400
    error = chat.json()["error"]
    assert error["code"] == "tools_failed" and "KeyError: 'word'" in error["message"]


def test_a_turn_that_is_cut_off_runs_nothing(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint)
    chat = Chat(backend, model="clerk")
    write(worker, CALL, reason="length")
    completion = chat.json()
    assert (completion["choices"][0]["finish_reason"], completion["trace"]["end"]) == ("length", "length")


def test_a_stream_has_the_answer_and_the_trace(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint)
    chat = Chat(backend, model="clerk", stream=True, stream_options={"include_usage": True})
    write(worker, CALL)
    run_tools(worker, RESULT)
    write(worker, "It is 2.")
    *data, end = chat.data()
    assert end == "[DONE]"
    chunks = [json.loads(line) for line in data]
    traces = [chunk.pop("trace") for chunk in chunks if "trace" in chunk]
    for chunk in chunks:
        checked(chunk, CHUNK)
    text = "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
    assert text == "It is 2." and [trace["end"] for trace in traces] == ["stop"]
    assert chunks[-1]["usage"]["completion_tokens"] == 10


def test_an_error_of_a_tool_call_ends_the_request(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint)
    chat = Chat(backend, model="clerk")
    write(worker, CALL)
    worker.take("run_tools")
    worker.answer(error={"code": "sandbox_unavailable", "message": "No sandbox.", "hint": "Look."})
    assert chat.end().status_code >= 500 and chat.json()["error"]["code"] == "sandbox_unavailable"


def test_what_belongs_to_one_turn_is_refused(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint)
    add = {"type": "function", "function": {"name": "add"}}
    parameters = {
        "tools": [add],
        "n": 2,
        "logprobs": True,
        "stop": "x",
        "response_format": {"type": "json_object"},
    }
    for name, value in parameters.items():
        answer = Chat(backend, model="clerk", **{name: value})
        assert answer.end().status_code == 400
        error = answer.json()["error"]
        assert (error["code"], error["param"]) == ("unsupported_parameter", name)


def test_weights_without_tools_are_refused(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    refused(create(backend, checkpoint, None), "run_tools", "no_tools")
    base = backend.api.post("/deployments", json={"name": "base", "model": "tiny", "run_tools": True})
    refused(base, "run_tools", "no_tools")


def test_other_weights_keep_running_their_tools(
    backend: Backend, worker: Player, checkpoint: dict[str, Any]
) -> None:
    deploy(backend, worker, checkpoint)
    headers = {"if-match": "*"}
    target = {"checkpoint": checkpoint["id"]}
    assert backend.api.patch("/deployments/clerk", headers=headers, json=target).json()["tools"] == ["add"]
    answer = backend.api.patch("/deployments/clerk", headers=headers, json=target | {"run_tools": False})
    assert answer.json()["tools"] is None
    refused(
        backend.api.patch("/deployments/clerk", headers=headers, json={"model": "tiny", "run_tools": True}),
        "run_tools",
        "no_tools",
    )
