"""From the request to a model and back: a real calls worker with its serving process, over HTTP."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, Unavailable
from tests.backend.playground.lane import Client
from tests.backend.server import OWNER_KEY, WORKER_TOKEN, Backend, wait_until
from worker.blob_cache import BlobCache
from worker.call_sample import Sampler
from worker.calls import SAMPLE, CallWorker
from worker.door import Door
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore
from worker.serving_process import ServingProcess
from worker.starter import CHECKPOINT
from worker.training.archive import pack_folder

MODEL = "starter-arith"
CHAT = [{"role": "user", "content": "12+30="}]


def write_adapter(folder: Path) -> Path:
    """It makes the starter model say something else."""
    torch.manual_seed(0)
    config = LoraConfig(r=4, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(CHECKPOINT), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    model.save_pretrained(folder)
    return folder


class Real:
    """The backend, a calls worker that can sample, and a checkpoint of a job."""

    def __init__(self, backend: Backend, home: Path) -> None:
        self.backend = backend
        models = ModelStore(home / "models")
        with backend.lane(inspect_model=lambda payload: inspect_model(payload["source"], models)):
            response = backend.api.post("/models", json={"id": MODEL, "source": f"builtin:{MODEL}"})
            assert response.status_code in (200, 201), response.text
            trainer = backend.claim(backend.create_job(model=MODEL))
            trainer.start()
        blob = trainer.blob(pack_folder(write_adapter(home / "adapter")))
        record = {"kind": "checkpoint_saved", "step": 1, "blob": blob, "held_out_reward": 0.5, "final": False}
        trainer.send(record)
        [found] = backend.api.get(f"/jobs/{trainer.claimed['job']}/checkpoints").json()["data"]
        self.checkpoint: str = found["id"]

        door = Door(backend.url, WORKER_TOKEN)
        self.serving = ServingProcess()
        sampler = Sampler(door, models, BlobCache(home / "blobs", door.get_blob), home, self.serving)
        backend.register("wrk_samples", "calls")
        self.worker = CallWorker(door, "wrk_samples", models, None, sampler)
        self.threads = [threading.Thread(target=self.worker.loop, args=(SAMPLE, 0.3)) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.worker.stop.set()
        for thread in self.threads:
            thread.join(20)
        self.serving.close()
        self.backend.sql("DELETE FROM worker WHERE id = 'wrk_samples'")


@pytest.fixture(scope="module")
def real(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    real = Real(backend, tmp_path_factory.mktemp("worker"))
    yield real
    real.stop()


@pytest.fixture
def client(real: Real) -> Iterator[Reinforge]:
    with Reinforge(real.backend.url, OWNER_KEY) as client:
        yield client


def test_base_and_checkpoint_side_by_side(real: Real) -> None:
    options = {"model": MODEL, "prompts": [CHAT], "temperature": 0.0, "max_tokens": 60}
    base, adapter = (
        Client(real.backend, **options),
        Client(real.backend, **options, checkpoint=real.checkpoint),
    )
    for client in (base, adapter):
        client.start()
    for client in (base, adapter):
        assert client.end() == {"type": "end"}
        [done] = [event for event in client.events if event["type"] == "done"]
        assert "".join(client.texts()) == done["text"]
    assert "".join(base.texts()) == "<answer>42</answer>"
    assert base.texts() != adapter.texts()


def test_the_sdk_reads_the_stream(client: Reinforge) -> None:
    options = {"prompts": [CHAT, CHAT], "samples_per_prompt": 2, "seed": 4}
    first = list(client.sample(MODEL, **options))
    done = {(event.prompt, event.sample): event.text for event in first if event.type == "done"}
    assert len(done) == 4 and first[-1].type == "end"
    again = {(e.prompt, e.sample): e.text for e in client.sample(MODEL, **options) if e.type == "done"}
    assert again == done


def test_errors_of_the_stream_are_raised(client: Reinforge) -> None:
    with pytest.raises(InvalidInput) as refused:
        list(client.sample("none", prompts=[CHAT]))
    assert refused.value.param == "model"
    long = [{"role": "user", "content": "1" * 3000}]
    with pytest.raises(InvalidInput) as overflow:
        list(client.sample(MODEL, prompts=[long]))
    assert (overflow.value.code, overflow.value.param) == ("context_overflow", "prompts[0]")


def test_leaving_the_stream_stops_the_worker(real: Real, client: Reinforge) -> None:
    long = {"prompts": [CHAT], "samples_per_prompt": 16, "temperature": 10.0, "max_tokens": 480}
    for event in client.sample(MODEL, **long):
        if event.type == "delta":
            break
    wait_until(lambda: not real.backend.sql("SELECT 1 FROM call WHERE kind = 'sample'"), "the call's end")
    events = list(client.sample(MODEL, prompts=[CHAT], temperature=0.0))
    assert events[-2].text == "<answer>42</answer>"


def test_the_death_of_the_serving_process_is_told(real: Real, client: Reinforge) -> None:
    long = {"prompts": [CHAT], "samples_per_prompt": 16, "temperature": 10.0, "max_tokens": 480}
    with pytest.raises(Unavailable) as lost:
        for event in client.sample(MODEL, **long):
            if event.type == "delta" and (pid := real.serving.pid) is not None:
                os.kill(pid, signal.SIGKILL)
    assert lost.value.code == "serving_lost"
    assert list(client.sample(MODEL, prompts=[CHAT]))[-1].type == "end"
