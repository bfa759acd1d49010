"""An adapter from the finished demo to a name that clients ask: loaded, streamed, killed in the middle, drained."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from reinforge.client import Reinforge
from reinforge.platform.up import Platform
from tests.e2e.conftest import KEY, Demo, pids_of
from tests.support.processes import eventually
from worker.starter import CHECKPOINT

NAME = "sums"
CHAT = [{"role": "user", "content": "68+52="}]
LONG = {"n": 16, "temperature": 2.0, "max_tokens": 400}


@pytest.fixture(scope="module")
def deployed(client: Reinforge, demo: Demo) -> Iterator[str]:
    client.deployments.create(NAME, adapter=client.jobs.get(demo.summary["job_id"]).adapter)
    deployment = client.deployments.wait(NAME, timeout=120)
    assert (deployment.state, deployment.error) == ("ready", None)
    yield NAME
    client.deployments.stop(NAME)
    client.deployments.wait(NAME)
    client.deployments.delete(NAME)


@pytest.fixture(scope="module")
def http(platform: Platform) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{platform.url}/v1", headers=headers, timeout=180) as http:
        yield http


def ask(http: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = http.post("/chat/completions", json={"model": NAME, "messages": CHAT, **fields})
    assert answer.status_code == 200, answer.text
    completion: dict[str, Any] = answer.json()
    return completion


def chunks(http: httpx.Client, **fields: Any) -> Iterator[dict[str, Any]]:
    body = {"model": NAME, "messages": CHAT, "stream": True, **fields}
    with http.stream("POST", "/chat/completions", json=body) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


def test_the_adapter_answers_what_it_has_learned(http: httpx.Client, deployed: str) -> None:
    whole = ask(http, temperature=0)
    text = whole["choices"][0]["message"]["content"]
    assert text.endswith("<answer>120</answer>")
    pieces = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks(http, temperature=0)]
    assert "".join(pieces) == text
    assert len([piece for piece in pieces if piece]) > 1, "it comes in pieces"


def test_log_probabilities_sum_to_the_adapters_own(
    http: httpx.Client, client: Reinforge, demo: Demo, deployed: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As PEFT and transformers compute them from the adapter's download."""
    completion = ask(http, logprobs=True, seed=4, temperature=0.9)
    [choice] = completion["choices"]
    adapter = client.jobs.get(demo.summary["job_id"]).adapter
    assert adapter is not None
    folder = client.adapters.extract(adapter, tmp_path_factory.mktemp("adapter") / "here")
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(CHECKPOINT), folder)
    prompt = tokenizer.apply_chat_template(CHAT, add_generation_prompt=True, return_dict=False)
    sampled = tokenizer.encode(choice["message"]["content"], add_special_tokens=False)
    sampled += [tokenizer.eos_token_id] * (choice["finish_reason"] == "stop")
    with torch.inference_mode():
        logits = model(torch.tensor([prompt + sampled])).logits[0, len(prompt) - 1 : -1] / 0.9
    own = torch.log_softmax(logits, -1).gather(-1, torch.tensor(sampled)[:, None]).sum()
    assert sum(entry["logprob"] for entry in choice["logprobs"]["content"]) == pytest.approx(
        float(own), abs=1e-2
    )
    assert completion["usage"]["completion_tokens"] == len(sampled)


def test_a_host_killed_in_the_middle_is_reported_and_the_next_request_works(
    http: httpx.Client, client: Reinforge, platform: Platform, deployed: str
) -> None:
    errors: list[str] = []
    killed: list[int] = []
    for chunk in chunks(http, **LONG):
        if "error" in chunk:
            errors.append(chunk["error"]["code"])
        elif not killed and chunk["choices"][0]["delta"].get("content"):
            killed = pids_of(platform, "worker.serving", last=False)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
    assert killed
    assert errors == ["serving_lost"]
    eventually(lambda: client.deployments.get(NAME).state == "failed", within=20, what="the state")
    why = client.deployments.get(NAME).error
    assert why is not None and why.code == "serving_lost"
    assert ask(http, temperature=0)["choices"][0]["message"]["content"].endswith("<answer>120</answer>")
    assert client.deployments.get(NAME).state == "ready"


def test_stopping_lets_a_stream_end(http: httpx.Client, client: Reinforge, deployed: str) -> None:
    before = client.deployments.get(NAME).usage
    ends: list[str] = []
    begun = threading.Event()

    def read() -> None:
        for chunk in chunks(http, stream_options={"include_usage": True}, **LONG):
            for choice in chunk["choices"]:
                if choice["delta"].get("content"):
                    begun.set()
                ends.extend([choice["finish_reason"]] if choice["finish_reason"] else [])

    reader = threading.Thread(target=read)
    reader.start()
    assert begun.wait(60)
    assert client.deployments.stop(NAME).state == "draining"
    late = http.post("/chat/completions", json={"model": NAME, "messages": CHAT})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "deployment_stopped")
    reader.join(120)
    assert len(ends) == LONG["n"]
    deployment = client.deployments.wait(NAME)
    assert (deployment.state, deployment.under_way) == ("stopped", 0)
    assert deployment.usage.requests == before.requests + 1
    client.deployments.start(NAME)
    assert client.deployments.wait(NAME).state == "ready"
