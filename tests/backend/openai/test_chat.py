"""Chat completions over HTTP with a scripted worker: requests, shapes, streams, errors."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.backend.openai.chat_request import BODY, COMPLETION, USER, Chat, delta, done, prompt
from tests.backend.openai.schemas import ERROR, checked
from tests.backend.playground.player import Player, player
from tests.backend.server import OWNER_KEY, Backend, wait_until


@pytest.fixture
def worker(backend: Backend) -> Iterator[Player]:
    backend.add_model()
    with player(backend) as worker:
        yield worker


# ── What the worker is told ────────────────────────────────────────────────────────────────────────────────


ADD = {"type": "function", "function": {"name": "add"}}


def payload_of(backend: Backend, worker: Player, **fields: Any) -> dict[str, Any]:
    chat = Chat(backend, **fields)
    payload = worker.take()
    worker.answer(result={})
    assert chat.end().status_code == 200
    return payload


def test_a_plain_request(backend: Backend, worker: Player) -> None:
    payload = payload_of(backend, worker)
    assert 0 <= payload.pop("seed") < 2**63
    assert payload == {
        "model": "tiny",
        "model_source": "/models/tiny",
        "model_sha256": "ab" * 32,
        "adapter": None,
        "prompts": [[USER]],
        "samples_per_prompt": 1,
        "max_tokens": 4096,
        "temperature": 1.0,
        "top_p": 1.0,
        "stop": [],
        "top_logprobs": None,
        "tools": None,
        "json_schema": None,
        "deployment": None,
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"max_tokens": 5}, {"max_tokens": 5}),
        ({"max_tokens": 5, "max_completion_tokens": 7}, {"max_tokens": 7}),
        ({"stop": "\n"}, {"stop": ["\n"]}),
        ({"stop": ["a", "b"]}, {"stop": ["a", "b"]}),
        ({"temperature": 0, "top_p": 0.5, "n": 3}, {"temperature": 0.0, "top_p": 0.5, "samples_per_prompt": 3}),
        ({"seed": -1}, {"seed": 2**63 - 1}),
        ({"logprobs": True}, {"top_logprobs": 0}),
        ({"logprobs": True, "top_logprobs": 4}, {"top_logprobs": 4}),
        ({"logprobs": False}, {"top_logprobs": None}),
        ({"tools": [ADD]}, {"tools": [ADD]}),
        ({"tools": [ADD], "tool_choice": "none"}, {"tools": None}),
        (
            {"user": "u", "metadata": {"a": "b"}, "store": True, "reasoning_effort": "low", "n": None, "stop": None,
             "frequency_penalty": 0, "response_format": {"type": "text"}, "logit_bias": {}, "moderation": None,
             "prompt_cache_options": {"mode": "explicit", "ttl": "30m"}},
            {"samples_per_prompt": 1, "stop": []},
        ),
    ],
    ids=lambda value: "-".join(value) if "prompts" not in value else "",
)  # fmt: skip
def test_fields(backend: Backend, worker: Player, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    payload = payload_of(backend, worker, **fields)
    assert {name: payload[name] for name in expected} == expected


def test_messages_of_every_role_as_texts(backend: Backend, worker: Player) -> None:
    arguments = '{"a": 1}'
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": arguments}}
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "be"}, {"type": "text", "text": "brief"}]},
        {"role": "user", "content": "add 1", "name": "ada"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "2"}]},
    ]
    [rendered] = payload_of(backend, worker, messages=messages)["prompts"]
    parsed = call | {"function": {"name": "add", "arguments": {"a": 1}}}
    assert rendered == [
        {"role": "developer", "content": "be\nbrief"},
        {"role": "user", "content": "add 1", "name": "ada"},
        {"role": "assistant", "content": "", "tool_calls": [parsed]},
        {"role": "tool", "content": "2", "tool_call_id": "call_1"},
    ]


# ── Answers ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_whole_answer(backend: Backend, worker: Player) -> None:
    chat = Chat(backend, n=2)
    worker.take()
    worker.tell(1, prompt(7), delta("tw", 1), delta("th", 1, sample=1), delta("o", 2))
    worker.tell(2, done("three", 4, "length", sample=1), done("two", 3))
    worker.answer(result={})
    completion = chat.json()
    checked(completion, COMPLETION)
    assert [
        (choice["index"], choice["message"], choice["finish_reason"]) for choice in completion["choices"]
    ] == [
        (0, {"role": "assistant", "content": "two", "refusal": None}, "stop"),
        (1, {"role": "assistant", "content": "three", "refusal": None}, "length"),
    ]
    assert completion["usage"] == {"prompt_tokens": 7, "completion_tokens": 7, "total_tokens": 14}
    assert (completion["model"], chat.end().headers["content-type"]) == ("tiny", "application/json")
    assert chat.end().headers["x-request-id"]


TOKEN = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}


def test_log_probabilities_of_all_tokens_in_order(backend: Backend, worker: Player) -> None:
    entries = [TOKEN | {"logprob": -float(number)} for number in range(4)]
    events = [
        delta("a", 1, logprobs=entries[:1]),
        delta("aa", 3, logprobs=entries[1:3]),
        done("aaa", 4, logprobs=entries[3:]),
    ]
    chat = Chat(backend, logprobs=True)
    worker.take()
    worker.tell(1, *events)
    worker.answer(result={})
    completion = chat.json()
    checked(completion, COMPLETION)
    assert completion["choices"][0]["logprobs"] == {"content": entries, "refusal": None}

    chat = Chat(backend, logprobs=True, stream=True)
    worker.take()
    worker.tell(1, *events)
    worker.answer(result={})
    lists = [chunk["choices"][0]["logprobs"] for chunk in chat.chunks()]
    assert [entry for logprobs in lists if logprobs for entry in logprobs["content"]] == entries


def test_a_stream(backend: Backend, worker: Player) -> None:
    chat = Chat(backend, stream=True, n=2, stream_options={"include_usage": True})
    worker.take()
    worker.tell(
        1, {"type": "status", "message": "Loading"}, prompt(7), delta("tw", 1), delta("three", 2, sample=1)
    )
    wait_until(lambda: any("three" in line for line in chat.lines), "the first pieces, before the end")
    worker.tell(2, delta("o", 2), done("two", 3), done("three", 4, "length", sample=1))
    worker.answer(result={})
    *chunks, last = chat.chunks()
    assert chat.end().headers["content-type"].startswith("text/event-stream")
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in [*chunks, last]}) == 1
    pieces = [(chunk["choices"][0]["index"], chunk["choices"][0]["delta"]) for chunk in chunks]
    assert pieces == [
        (0, {"role": "assistant", "content": ""}),
        (1, {"role": "assistant", "content": ""}),
        (0, {"content": "tw"}),
        (1, {"content": "three"}),
        (0, {"content": "o"}),
        (0, {}),
        (1, {}),
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[-2:]] == ["stop", "length"]
    assert [chunk["usage"] for chunk in chunks] == [None] * 7
    usage = {"prompt_tokens": 7, "completion_tokens": 7, "total_tokens": 14}
    assert (last["choices"], last["usage"]) == ([], usage)


def test_tokens_of_a_request_count_for_its_project(backend: Backend, worker: Player) -> None:
    def used() -> dict[str, float]:
        totals = backend.api.get("/usage", params={"days": 1}).json()["totals"]
        return {kind: totals.get(f"served_{kind}_tokens") or 0.0 for kind in ("input", "output")}

    before = used()
    chat = Chat(backend, stream=True)
    worker.take()
    worker.tell(1, prompt(7), delta("2", 1), done("2", 2))
    worker.answer(result={})
    chat.end()
    wait_until(lambda: used() == {"input": before["input"] + 7, "output": before["output"] + 2}, "the count")


def test_a_stream_without_usage_has_none(backend: Backend, worker: Player) -> None:
    chat = Chat(backend, stream=True)
    worker.take()
    worker.tell(1, prompt(7), delta("2", 1), done("2", 2))
    worker.answer(result={})
    assert all("usage" not in chunk and chunk["choices"] for chunk in chat.chunks())


CALL = 'So: <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_calls_of_tools(backend: Backend, worker: Player, stream: bool) -> None:
    chat = Chat(backend, stream=stream, tools=[{"type": "function", "function": {"name": "add"}}])
    worker.take()
    worker.tell(
        1, *[delta(CALL[place : place + 3], place + 1) for place in range(0, len(CALL), 3)], done(CALL, 99)
    )
    worker.answer(result={})
    if stream:
        chunks = [chunk["choices"][0] for chunk in chat.chunks()]
        content = "".join(choice["delta"].get("content") or "" for choice in chunks)
        [[call]] = [choice["delta"]["tool_calls"] for choice in chunks if "tool_calls" in choice["delta"]]
        assert (call.pop("index"), chunks[-1]["finish_reason"]) == (0, "tool_calls")
    else:
        completion = chat.json()
        checked(completion, COMPLETION)
        [choice] = completion["choices"]
        content, [call] = choice["message"]["content"], choice["message"]["tool_calls"]
        assert choice["finish_reason"] == "tool_calls"
    assert content.strip() == "So:"
    assert call["id"].startswith("call_")
    assert call["function"]["name"] == "add"
    assert json.loads(call["function"]["arguments"]) == {"a": 1}


# ── What goes wrong ────────────────────────────────────────────────────────────────────────────────────────


def post(backend: Backend, **fields: Any) -> httpx.Response:
    with backend.client(OWNER_KEY, "/v1") as http:
        return http.post("/chat/completions", json=BODY | fields)


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"messages": []}, "messages", "invalid_input"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role", "unknown_role"),
        ({"messages": [USER, {"role": "assistant", "content": "2"}]}, "messages[1]", "last_message"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0]",
         "unsupported_content"),
        ({"temperature": 2.5}, "temperature", "invalid_input"),
        ({"n": 0}, "n", "invalid_input"),
        ({"stop": ["x", ""]}, "stop", "invalid_stop"),
        ({"top_logprobs": 2}, "top_logprobs", "invalid_value"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "invalid_value"),
        ({"response_format": {"type": "grammar"}}, "response_format.type", "unsupported"),
        ({"response_format": {"type": "json_schema", "schema": []}}, "response_format.schema", "invalid_schema"),
        ({"response_format": {"type": "json_object"}, "tools": [{"type": "function", "function": {"name": "f"}}]},
         "response_format", "unsupported"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
         "response_format.json_schema.schema", "invalid_schema"),
        ({"tools": [{"type": "function"}]}, "tools[0]", "invalid_tools"),
        ({"tool_choice": "required"}, "tool_choice", "unsupported_parameter"),
        ({"frequency_penalty": 0.5}, "frequency_penalty", "unsupported_parameter"),
        ({"logit_bias": {"5": 1}}, "logit_bias", "unsupported_parameter"),
        ({"modalities": ["audio"]}, "modalities", "unsupported_parameter"),
        ({"moderation": {"model": "omni-moderation-latest"}}, "moderation", "unsupported_parameter"),
        ({"temprature": 1}, "temprature", "invalid_input"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_bad_request_names_the_field(
    backend: Backend, worker: Player, fields: dict[str, Any], param: str, code: str
) -> None:
    answer = post(backend, **fields)
    error = answer.json()["error"]
    checked(answer.json(), ERROR)
    assert (answer.status_code, error["param"], error["code"]) == (400, param, code)
    assert error["message"]


def test_a_model_that_nobody_has(backend: Backend, worker: Player) -> None:
    for name in ("gpt-9", "ft:tiny:default::zzzzzzzz", "org/name"):
        answer = post(backend, model=name)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (404, "model_not_found", "model")
        assert name in error["message"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_no_worker(backend: Backend, stream: bool) -> None:
    backend.add_model()
    answer = post(backend, stream=stream)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_worker")
    assert answer.headers["retry-after"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_what_the_worker_refuses_before_it_begins_has_a_status(
    backend: Backend, worker: Player, stream: bool
) -> None:
    chat = Chat(backend, stream=stream)
    worker.take()
    error = {
        "type": "invalid_request_error",
        "code": "context_overflow",
        "message": "No.",
        "param": "prompts[0]",
    }
    worker.answer(error=error)
    chat_error = chat.json()["error"]
    assert chat.end().status_code == 400
    assert (chat_error["code"], chat_error["param"]) == ("context_length_exceeded", "messages")


def test_a_failure_in_the_middle_of_a_stream_is_its_last_event(backend: Backend, worker: Player) -> None:
    chat = Chat(backend, stream=True)
    worker.take()
    worker.tell(1, prompt(7), delta("tw", 1))
    worker.answer(error={"code": "serving_lost", "message": "It has ended.", "hint": "Try again."})
    *chunks, last = chat.data()
    assert "[DONE]" not in chunks
    error = json.loads(last)
    checked(error, ERROR)
    assert error["error"]["code"] == "serving_lost"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_hanging_up_removes_the_call_from_the_queue(backend: Backend, worker: Player, stream: bool) -> None:
    chat = Chat(backend, patience=0.5, stream=stream)
    worker.take()
    worker.tell(1, prompt(7), delta("tw", 1))
    wait_until(lambda: chat.left, "the client's leaving")
    wait_until(lambda: worker.calls() == 0, "the call's end")
    assert worker.chunk(2, "o").status_code == 404


def test_viewers_do_not_make_workers_work(backend: Backend, worker: Player) -> None:
    with backend.add_key("viewer") as viewer:
        answer = viewer.post(f"{backend.url}/v1/chat/completions", json=BODY)
    assert answer.status_code == 403
