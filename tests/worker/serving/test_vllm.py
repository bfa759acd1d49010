"""Sampling on demand from a real vLLM server: the same requests and events as the engine in the process has."""

import json
import os
import queue
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from reinforge.errors import JobFailure
from worker.machine.vllm_python import VARIABLE, vllm_missing, vllm_python
from worker.models.chat import renderer
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.serving import server
from worker.serving.engine import Engine
from worker.serving.server import ServingServer
from worker.serving.transformers import TransformersServing
from worker.serving.vllm import VllmServing
from worker.serving_client.protocol import Reply, SamplePrompt, ServingRequest
from worker.starter import CHECKPOINT

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]  # a start takes minutes on a busy machine
HELD = 2


class Bench:
    """A serving process's loop around an engine."""

    def __init__(self, engine: Engine) -> None:
        self.inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.replies: list[Reply] = []
        self.server = ServingServer(self.inbox, self.replies.append, engine)
        self.engine = engine
        self.count = 0

    def ask(self, *texts: str, max_tokens: int = 24, **fields: Any) -> str:
        self.count += 1
        chat = renderer(CHECKPOINT)
        prompts = [
            SamplePrompt(
                ids=chat.encode(chat.render([{"role": "user", "content": t}])), max_tokens=max_tokens
            )
            for t in texts
        ]
        if (folder := fields.pop("adapter", None)) is not None:
            fields |= {"adapter": f"adapter-{folder.name}", "adapter_folder": str(folder)}
        request = ServingRequest(
            id=f"o{self.count}", model="starter-arith", folder=str(CHECKPOINT), prompts=prompts, **fields
        )
        self.inbox.put({"request": request.model_dump()})
        return request.id

    def run(self, *ids: str, seconds: float = 600) -> None:
        """Until these requests have ended."""
        deadline = time.monotonic() + seconds
        while not {reply.id for reply in self.replies if reply.ended or reply.error} >= set(ids):
            assert time.monotonic() < deadline, f"{ids} do not end"
            self.server.turn()

    def until(self, id: str, kind: str) -> None:
        deadline = time.monotonic() + 60
        while not self.events(id, kind):
            assert time.monotonic() < deadline
            self.server.turn()

    def events(self, id: str, kind: str | None = None) -> list[dict[str, Any]]:
        events = [event for reply in self.replies if reply.id == id for event in reply.events]
        return [event for event in events if kind in (None, event["type"])]

    def texts(self, id: str) -> list[str]:
        done = {(event["prompt"], event["sample"]): event["text"] for event in self.events(id, "done")}
        return [done[key] for key in sorted(done)]

    def error(self, id: str) -> dict[str, Any]:
        [error] = [reply.error for reply in self.replies if reply.id == id and reply.error]
        return error

    def get(self, *texts: str, **fields: Any) -> list[str]:
        id = self.ask(*texts, **fields)
        self.run(id)
        return self.texts(id)


@pytest.fixture(scope="module")
def vllm() -> Iterator[Bench]:
    if vllm_python() is None:
        pytest.fail(f"`make vllm` installs what this needs: {vllm_missing()}")
    before, server.EVENTS_EVERY_SECONDS = server.EVENTS_EVERY_SECONDS, 0.0
    engine = VllmServing(adapters=HELD)
    yield Bench(engine)
    engine.close()
    server.EVENTS_EVERY_SECONDS = before


@pytest.fixture(scope="module")
def local() -> Bench:
    """The engine in the process, to compare with."""
    return Bench(TransformersServing())


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three that change what the model says, each in its own way."""
    folder = tmp_path_factory.mktemp("adapters")
    host = LocalHost(load_base_model(CHECKPOINT))
    for number in range(3):
        policy = host.create_policy(f"p{number}", rank=4, alpha=16, targets="all-linear", seed=number)
        with torch.no_grad():
            for name, parameter in host.base.model.named_parameters():
                if "lora_B" in name and f".p{number}." in name:
                    parameter.normal_(std=0.08, generator=torch.Generator().manual_seed(number))
        policy.export(folder / f"a{number}", base_model="starter-arith")
    return [folder / f"a{number}" for number in range(3)]


def names(vllm: Bench) -> list[str]:
    assert isinstance(vllm.engine, VllmServing) and vllm.engine._held is not None
    return vllm.engine._wait(vllm.engine._held.api.names())


def test_the_base_model_answers_as_in_the_process(vllm: Bench, local: Bench) -> None:
    ask = {"temperature": 0.0, "samples_per_prompt": 2}
    assert vllm.get("12 + 34", "7 + 8", **ask) == local.get("12 + 34", "7 + 8", **ask)
    first = [event for event in vllm.events("o1") if event["type"] == "status"]
    assert first[0]["message"] == "Starting vLLM with starter-arith" and len(first) >= 3
    assert [event["tokens"] for event in vllm.events("o1", "prompt")] == [
        event["tokens"] for event in local.events("o1", "prompt")
    ]


def test_adapters_are_loaded_on_demand_and_the_least_recently_used_goes(
    vllm: Bench, local: Bench, adapters: list[Path]
) -> None:
    base = local.get("12 + 34", temperature=0.0)
    for adapter in adapters:
        expected = local.get("12 + 34", temperature=0.0, adapter=adapter)
        assert vllm.get("12 + 34", temperature=0.0, adapter=adapter) == expected != base
    assert names(vllm) == ["base", "adapter-a1", "adapter-a2"]
    expected = local.get("7 + 8", temperature=0.0, adapter=adapters[0])
    assert vllm.get("7 + 8", temperature=0.0, adapter=adapters[0]) == expected
    assert sorted(names(vllm)) == ["adapter-a0", "adapter-a2", "base"]


def test_several_adapters_and_the_base_sample_at_the_same_time(
    vllm: Bench, local: Bench, adapters: list[Path]
) -> None:
    ask = {"temperature": 0.0, "max_tokens": 60}
    ids = [vllm.ask("12 + 34", adapter=a, **ask) for a in (adapters[0], adapters[2])] + [
        vllm.ask("12 + 34", **ask)
    ]
    vllm.run(*ids)
    expected = [local.get("12 + 34", adapter=a, **ask) for a in (adapters[0], adapters[2], None)]
    assert [vllm.texts(id) for id in ids] == expected


def test_text_comes_in_pieces(vllm: Bench) -> None:
    id = vllm.ask("12 + 34", max_tokens=60, seed=3)
    vllm.run(id)
    pieces = vllm.events(id, "delta")
    [done] = vllm.events(id, "done")
    assert len(pieces) > 1 and "".join(piece["text"] for piece in pieces) == done["text"]
    assert done["tokens"] == max(piece["tokens"] for piece in pieces) or done["finish_reason"] == "stop"


def test_seeds_and_samples(vllm: Bench) -> None:
    ask = {"samples_per_prompt": 4, "temperature": 1.5}
    first, again = vllm.get("12 + 34", seed=1, **ask), vllm.get("12 + 34", seed=1, **ask)
    assert first == again != vllm.get("12 + 34", seed=2, **ask) and len(set(first)) > 1


def test_a_stop_text_ends_a_completion_and_is_left_off(vllm: Bench) -> None:
    [free] = vllm.get("12 + 34", temperature=0.0, max_tokens=40)
    stop = free[4:6]
    id = vllm.ask("12 + 34", temperature=0.0, max_tokens=40, stop=[stop])
    vllm.run(id)
    [done] = vllm.events(id, "done")
    assert (done["text"], done["finish_reason"]) == (free[: free.index(stop)], "stop")


def test_a_schema_is_enforced(vllm: Bench) -> None:
    schema = {
        "type": "object",
        "properties": {"sum": {"type": "integer", "minimum": 0, "maximum": 99}},
        "required": ["sum"],
        "additionalProperties": False,
    }
    for text in vllm.get("12 + 34", max_tokens=60, samples_per_prompt=3, json_schema=schema):
        assert 0 <= json.loads(text)["sum"] <= 99


def test_log_probabilities_are_those_of_the_engine_in_the_process(vllm: Bench, local: Bench) -> None:
    results = []
    for bench in (vllm, local):
        id = bench.ask("12 + 34", temperature=0.0, top_logprobs=3)
        bench.run(id)
        entries = [entry for event in bench.events(id) for entry in event.get("logprobs", [])]
        assert len(entries) == bench.events(id, "done")[0]["tokens"]
        results.append(entries)
    for ours, theirs in zip(*results, strict=True):
        assert (ours["token"], ours["bytes"]) == (theirs["token"], theirs["bytes"])
        assert ours["logprob"] == pytest.approx(theirs["logprob"], abs=1e-4)
        assert [t["token"] for t in ours["top_logprobs"]] == [t["token"] for t in theirs["top_logprobs"]]


def test_a_request_that_is_cancelled_ends_on_the_server(vllm: Bench) -> None:
    id = vllm.ask("12 + 34", max_tokens=450, samples_per_prompt=4, temperature=2.0)
    vllm.until(id, "delta")
    vllm.inbox.put({"cancel": id})
    vllm.get("7 + 8", temperature=0.0)
    assert isinstance(vllm.engine, VllmServing) and vllm.engine._held is not None
    assert not vllm.engine._running
    client = vllm.engine._held.api._client

    async def running() -> float:
        lines = (await client.get("/metrics")).text.splitlines()
        return sum(
            float(line.rpartition(" ")[2]) for line in lines if line.startswith("vllm:num_requests_running")
        )

    deadline = time.monotonic() + 10
    while vllm.engine._wait(running()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert vllm.engine._wait(running()) == 0


def test_an_adapter_that_is_none_is_refused_and_others_go_on(
    vllm: Bench, adapters: list[Path], tmp_path: Path
) -> None:
    config = json.loads((adapters[0] / "adapter_config.json").read_text())
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "adapter_config.json").write_text(json.dumps(config | {"use_dora": True}))
    (broken / "adapter_model.safetensors").write_bytes(
        (adapters[0] / "adapter_model.safetensors").read_bytes()
    )
    id = vllm.ask("7 + 8", adapter=broken)
    vllm.run(id)
    assert vllm.error(id)["code"] == "invalid_adapter" and "DoRA" in vllm.error(id)["message"]
    assert vllm.get("7 + 8", adapter=adapters[0])


@pytest.mark.long
def test_a_server_that_dies_is_a_clear_error_and_the_next_request_has_another(
    vllm: Bench, local: Bench, adapters: list[Path]
) -> None:
    # No end of text is allowed before the 400th number: all four are still under way when the server dies.
    endless = {"type": "array", "items": {"type": "integer"}, "minItems": 400}
    id = vllm.ask("12 + 34", max_tokens=450, samples_per_prompt=4, adapter=adapters[0], json_schema=endless)
    vllm.until(id, "delta")
    assert isinstance(vllm.engine, VllmServing) and vllm.engine._held is not None
    pid = vllm.engine._held.server.pid
    assert pid is not None
    os.killpg(pid, signal.SIGKILL)
    vllm.run(id)
    assert vllm.error(id)["code"] == "serving_lost" and "restarts it" in vllm.error(id)["hint"]
    expected = local.get("12 + 34", temperature=0.0, adapter=adapters[0])
    assert vllm.get("12 + 34", temperature=0.0, adapter=adapters[0]) == expected


def test_a_worker_without_vllm_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/python")
    bench = Bench(VllmServing())
    id = bench.ask("1 + 1")
    bench.run(id, seconds=10)
    assert bench.error(id)["code"] == "engine_missing" and "/nowhere/python" in bench.error(id)["message"]
    assert JobFailure.type == bench.error(id)["type"]
