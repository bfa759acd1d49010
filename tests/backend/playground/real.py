"""A real calls worker with its serving process beside a backend, and a checkpoint to ask."""

import threading
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from tests.backend.server import WORKER_TOKEN, Backend
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import WorkerApi
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore
from worker.rpc.sample import Sampler
from worker.rpc.server import SAMPLING, CallWorker
from worker.serving_client.process import ServingProcess
from worker.starter import CHECKPOINT
from worker.training.checkpoint.archive import pack_folder

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
        with backend.rpc_worker(inspect_model=lambda payload: inspect_model(payload["source"], models)):
            trainer = backend.claim(backend.create_job(model=MODEL))
            trainer.start()
        blob = trainer.blob(pack_folder(write_adapter(home / "adapter")))
        record = {"kind": "checkpoint_saved", "step": 1, "blob": blob, "held_out_reward": 0.5, "final": False}
        trainer.send(record)
        [checkpoint] = backend.api.get(f"/jobs/{trainer.claimed['job']}/checkpoints").json()["data"]
        self.checkpoint: str = checkpoint["id"]

        api = WorkerApi(backend.url, WORKER_TOKEN)
        self.serving = ServingProcess()
        sampler = Sampler(api, models, BlobCache(home / "blobs", api.get_blob), home, self.serving)
        backend.register("wrk_samples", "calls")
        self.worker = CallWorker(api, "wrk_samples", models, None, sampler)
        self.threads = [threading.Thread(target=self.worker.loop, args=(SAMPLING, 0.3)) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.worker.stop.set()
        for thread in self.threads:
            thread.join(20)
        self.serving.close()
        self.backend.sql("DELETE FROM worker WHERE id = 'wrk_samples'")
