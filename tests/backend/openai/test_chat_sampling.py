"""Chat completions of a real model: determinism, log-probabilities, usage, deployments, and a host that dies."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.backend.openai.chat_request import CHUNK, COMPLETION
from tests.backend.openai.schemas import checked
from tests.backend.playground.real import CHAT, MODEL, Real
from tests.backend.server import OWNER_KEY, Backend, wait_until
from worker.starter import CHECKPOINT


@pytest.fixture(scope="module")
def real(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    real = Real(backend, tmp_path_factory.mktemp("worker"))
    yield real
    real.stop()


@pytest.fixture(scope="module")
def http(real: Real) -> Iterator[httpx.Client]:
    with real.backend.client(OWNER_KEY) as http:
        http.timeout = 120
        yield http


@pytest.fixture(scope="module")
def deployed(real: Real, http: httpx.Client) -> str:
    """The name of a deployment of the checkpoint, loaded."""
    body = {"name": "sums", "checkpoint": real.checkpoint}
    assert http.post("/api/v1/deployments", json=body).status_code == 201
    wait_until(lambda: deployment(http)["state"] == "ready", "the deployment to be loaded", 60)
    return "sums"


def deployment(http: httpx.Client) -> dict[str, Any]:
    body: dict[str, Any] = http.get("/api/v1/deployments/sums").json()
    return body


def ask(http: httpx.Client, model: str = MODEL, **fields: Any) -> dict[str, Any]:
    answer = http.post("/v1/chat/completions", json={"model": model, "messages": CHAT, **fields})
    assert answer.status_code == 200, answer.text
    completion: dict[str, Any] = checked(answer.json(), COMPLETION)
    return completion


def texts(completion: dict[str, Any]) -> list[str]:
    return [choice["message"]["content"] for choice in completion["choices"]]


def chunks(http: httpx.Client, model: str = MODEL, **fields: Any) -> Iterator[dict[str, Any]]:
    body = {"model": model, "messages": CHAT, "stream": True, **fields}
    with http.stream("POST", "/v1/chat/completions", json=body) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


def test_usage_counts_the_rendered_prompt_and_all_sampled_tokens(http: httpx.Client) -> None:
    completion = ask(http, temperature=0, n=2)
    assert texts(completion) == ["<answer>42</answer>"] * 2
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    prompt = tokenizer.apply_chat_template(CHAT, add_generation_prompt=True, return_dict=False)
    tokens = len(tokenizer.encode(texts(completion)[0], add_special_tokens=False)) + 1  # the end token
    usage = {
        "prompt_tokens": len(prompt),
        "completion_tokens": 2 * tokens,
        "total_tokens": len(prompt) + 2 * tokens,
    }
    assert completion["usage"] == usage
    assert [choice["finish_reason"] for choice in completion["choices"]] == ["stop", "stop"]


def test_length_stop_and_seed(http: httpx.Client) -> None:
    short = ask(http, temperature=0, max_completion_tokens=3)
    assert (short["choices"][0]["finish_reason"], short["usage"]["completion_tokens"]) == ("length", 3)
    stopped = ask(http, temperature=0, stop="</ans")
    assert (texts(stopped), stopped["choices"][0]["finish_reason"]) == (["<answer>42"], "stop")
    warm = {"temperature": 2.0, "n": 3, "max_tokens": 20}
    first = ask(http, seed=5, **warm)
    assert texts(first) == texts(ask(http, seed=5, **warm)) != texts(ask(http, seed=6, **warm))
    assert texts(ask(http, **warm)) != texts(ask(http, **warm)), "without a seed every answer is another"


def test_a_stream_is_the_same_completion(http: httpx.Client) -> None:
    fields = {"temperature": 1.5, "seed": 3, "n": 2, "max_tokens": 24}
    whole = ask(http, **fields)
    parsed = [
        checked(chunk, CHUNK) for chunk in chunks(http, stream_options={"include_usage": True}, **fields)
    ]
    sampled = ["", ""]
    for chunk in parsed:
        for choice in chunk["choices"]:
            sampled[choice["index"]] += choice["delta"].get("content") or ""
    assert sampled == texts(whole)
    assert parsed[-1]["usage"] == whole["usage"]
    assert parsed[0]["system_fingerprint"] == whole["system_fingerprint"]


def test_log_probabilities_sum_to_the_models_own(http: httpx.Client) -> None:
    """What a completion's log-probability is under the model's forward pass is what the API says it is."""
    completion = ask(http, logprobs=True, top_logprobs=2, temperature=0.8, seed=1, max_tokens=30)
    [choice] = completion["choices"]
    entries = choice["logprobs"]["content"]
    assert len(entries) == completion["usage"]["completion_tokens"]
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(CHECKPOINT),
        AutoTokenizer.from_pretrained(CHECKPOINT),
    )
    prompt = tokenizer.apply_chat_template(CHAT, add_generation_prompt=True, return_dict=False)
    sampled = tokenizer.encode(choice["message"]["content"], add_special_tokens=False)
    sampled += [tokenizer.eos_token_id] * (choice["finish_reason"] == "stop")
    with torch.inference_mode():
        logits = model(torch.tensor([prompt + sampled])).logits[0, len(prompt) - 1 : -1] / 0.8
    own = torch.log_softmax(logits, -1).gather(-1, torch.tensor(sampled)[:, None]).sum()
    assert sum(entry["logprob"] for entry in entries) == pytest.approx(float(own), abs=1e-3)
    assert all(len(entry["top_logprobs"]) == 2 for entry in entries)
    streamed = [
        entry
        for chunk in chunks(http, logprobs=True, top_logprobs=2, temperature=0.8, seed=1, max_tokens=30)
        for choice in chunk["choices"]
        for entry in (choice["logprobs"] or {"content": []})["content"]
    ]
    assert streamed == entries


def test_a_deployment_says_what_its_checkpoint_says(real: Real, http: httpx.Client, deployed: str) -> None:
    fields = {"temperature": 0, "max_tokens": 30}
    before = deployment(http)["usage"]
    completion = ask(http, deployed, **fields)
    assert texts(completion) != texts(ask(http, **fields))
    [job] = real.backend.sql("SELECT job_id FROM checkpoint WHERE id = %s", real.checkpoint)
    code = str(job[0]).removeprefix("ftjob-")[:8]
    assert texts(ask(http, f"ft:{MODEL}:default::{code}:ckpt-step-1", **fields)) == texts(completion)
    after = deployment(http)["usage"]
    assert after["requests"] == before["requests"] + 1
    for kind in ("prompt_tokens", "completion_tokens"):
        assert after[kind] == before[kind] + completion["usage"][kind]


LONG = {"n": 16, "temperature": 2.0, "max_tokens": 480}


def test_a_host_that_dies_in_the_middle_is_reported_and_comes_back(
    real: Real, http: httpx.Client, deployed: str
) -> None:
    errors = []
    for chunk in chunks(http, deployed, **LONG):
        if "error" in chunk:
            errors.append(chunk["error"])
        elif chunk["choices"][0]["delta"].get("content") and (pid := real.serving.pid) is not None:
            with suppress(ProcessLookupError):  # chunks sent before the kill still arrive
                os.kill(pid, signal.SIGKILL)
    [error] = errors
    assert error["code"] == "serving_lost"
    assert error["hint"]
    failed = wait_until(lambda: (now := deployment(http))["state"] == "failed" and now, "its state")
    assert failed["error"]["code"] == "serving_lost"
    assert texts(ask(http, deployed, temperature=0, max_tokens=5))
    assert (deployment(http)["state"], deployment(http)["error"]) == ("ready", None)


def test_a_stopped_deployment_ends_what_it_has_begun(real: Real, http: httpx.Client, deployed: str) -> None:
    stream, sent = chunks(http, deployed, **LONG), []
    for chunk in stream:
        sent += chunk["choices"]
        if any(choice["delta"].get("content") for choice in chunk["choices"]):
            break
    assert http.post("/api/v1/deployments/sums/stop").json()["state"] == "draining"
    refused = http.post("/v1/chat/completions", json={"model": deployed, "messages": CHAT})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "deployment_stopped")
    sent += [
        choice for chunk in stream for choice in chunk["choices"]
    ]  # one may have ended with its first token
    assert sum(choice["finish_reason"] is not None for choice in sent) == 16
    wait_until(lambda: deployment(http)["state"] == "stopped", "the deployment to stop")
    http.post("/api/v1/deployments/sums/start")
    wait_until(lambda: deployment(http)["state"] == "ready", "the deployment to come back")


NUMBER = {"type": "integer", "minimum": 0, "maximum": 999}
ANSWER = {
    "type": "object",
    "properties": {"answer": NUMBER, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}
NESTED = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": ANSWER}}
FLAT = {"type": "json_schema", "name": "answer", "strict": True, "schema": ANSWER}


@pytest.mark.parametrize("form", [NESTED, FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("temperature", [0, 2])
def test_completions_are_held_to_a_schema(http: httpx.Client, form: dict[str, Any], temperature: int) -> None:
    """The model has never seen JSON: what it writes is JSON by the schema alone."""
    completion = ask(http, response_format=form, n=4, temperature=temperature, max_tokens=200, seed=3)
    assert [choice["finish_reason"] for choice in completion["choices"]] == ["stop"] * 4
    for text in texts(completion):
        value = json.loads(text)
        assert (set(value), type(value["sure"])) == ({"answer", "sure"}, bool)
        assert 0 <= value["answer"] <= 999
    free = ask(http, n=4, temperature=temperature, max_tokens=20, seed=3)
    assert not any(text.lstrip().startswith("{") for text in texts(free))


def test_a_held_completion_streams_has_log_probabilities_and_repeats(http: httpx.Client) -> None:
    same = {"response_format": NESTED, "temperature": 1, "max_tokens": 200, "seed": 5}
    pieces = [
        chunk["choices"][0]["delta"].get("content") or ""
        for chunk in chunks(http, **same)
        if chunk["choices"]
    ]
    whole = ask(http, **same, logprobs=True, top_logprobs=3)
    assert "".join(pieces) == texts(whole)[0]
    entries = whole["choices"][0]["logprobs"]["content"]
    assert all(-9999 < entry["logprob"] <= 0 for entry in entries)


def test_a_json_object_begins_as_one(http: httpx.Client) -> None:
    completion = ask(http, response_format={"type": "json_object"}, max_tokens=5, temperature=2)
    assert texts(completion)[0].startswith("{")


@pytest.mark.parametrize(
    "schema",
    [{"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/elsewhere"}, {"not": {"type": "string"}}],
    ids=["type", "elsewhere", "not"],
)
def test_a_schema_that_cannot_be_followed_is_refused_by_the_worker(
    http: httpx.Client, schema: dict[str, Any]
) -> None:
    body = {"model": MODEL, "messages": CHAT, "response_format": FLAT | {"schema": schema}}
    answer = http.post("/v1/chat/completions", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_schema", "response_format")
    assert error["hint"]


def test_a_schema_too_large_or_deep_is_refused_before_a_worker_sees_it(http: httpx.Client) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        deep = {"type": "array", "items": {"anyOf": [deep]}}
    for schema in (deep, {"type": "string", "description": "x" * 70_000}):
        body = {"model": MODEL, "messages": CHAT, "response_format": FLAT | {"schema": schema}}
        answer = http.post("/v1/chat/completions", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "schema_too_large")
