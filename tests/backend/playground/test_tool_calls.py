"""A conversation with tools, step by step: a model calls, the sandbox runs the calls, the model reads the results."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.client import Reinforge
from reinforge.schemas.playground import SampleEvent
from tests.backend.playground.player import player
from tests.backend.server import OWNER_KEY, WORKER_TOKEN, Backend
from tests.worker.sandbox.harness import running_daemon
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import WorkerApi
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore
from worker.rpc.sample import Sampler
from worker.rpc.server import CallWorker
from worker.serving_client.process import ServingProcess

MODEL = "starter-tools"
ENVIRONMENT = {
    "type": "tools",
    "sources": [{"type": "python", "source": Path("examples/calculator-agent/tools.py").read_text("utf-8")}],
}


@pytest.fixture
def client(backend: Backend, tmp_path: Path) -> Iterator[Reinforge]:
    models = ModelStore(tmp_path / "models")
    api, serving = WorkerApi(backend.url, WORKER_TOKEN), ServingProcess()
    sampler = Sampler(api, models, BlobCache(tmp_path / "blobs", api.get_blob), tmp_path, serving)
    with running_daemon() as daemon:
        worker = CallWorker(api, "wrk_tools", models, daemon.socket, sampler)
        backend.register("wrk_tools", "calls")
        kinds = (["sample", "run_tools"], 0.3)
        # The one that waits for calls keeps the worker online while the other samples.
        threads = [threading.Thread(target=worker.loop, args=kinds) for _ in range(2)]
        for thread in threads:
            thread.start()
        inspected = backend.rpc_worker(inspect_model=lambda call: inspect_model(call["source"], models))
        with Reinforge(backend.url, OWNER_KEY) as client, inspected:
            yield client
        worker.stop.set()
        for thread in threads:
            thread.join(20)
        serving.close()
        backend.sql("DELETE FROM worker WHERE id = 'wrk_tools'")


def sampled(client: Reinforge, messages: list[dict[str, Any]], **options: Any) -> list[SampleEvent]:
    tools = [entry.tool.model_dump() for entry in client.tools.check(ENVIRONMENT["sources"]).tools]
    events = client.sample(MODEL, [messages], tools=tools, max_tokens=60, **options)
    return [event for event in events if event.type == "done"]


def test_calls_run_step_by_step(client: Reinforge) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "61*71+63="}]
    answers = sampled(client, messages, samples_per_prompt=16)
    called = next(event for event in answers if event.calls and event.calls[0].error is None)
    assert called.calls is not None and all(
        event.calls is not None for event in answers if event is not called
    )
    calls = [call.model_dump() for call in called.calls]
    body = {"environment": ENVIRONMENT, "calls": calls, "model": MODEL}
    result = client.transport.post("/tools/run", body)
    assert [call["name"] for call in result["calls"]] == ["calc"] and result["history"]

    written = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in result["calls"]
    ]
    messages.append({"role": "assistant", "content": called.content, "tool_calls": written})
    messages += [
        {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": call["result"]}
        for call in result["calls"]
    ]
    [following] = sampled(client, messages, temperature=0.0)
    assert result["calls"][0]["result"] in following.text


def test_without_tools_an_answer_has_no_calls(backend: Backend) -> None:
    backend.add_model()
    with player(backend, "one") as worker, Reinforge(backend.url, OWNER_KEY) as client:
        events: list[SampleEvent] = []
        prompts = [[{"role": "user", "content": "hello"}]]
        reading = threading.Thread(target=lambda: events.extend(client.sample("tiny", prompts)))
        reading.start()
        worker.take()
        worker.chunk(1, "<tool_call>")
        worker.answer(result={})
        reading.join(20)
    assert events and all(event.calls is None for event in events)
