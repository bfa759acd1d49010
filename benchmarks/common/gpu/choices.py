"""Section `choices`: what is decided about a GPU before a job trains on it."""

from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from common.gpu.models import shape_of
from common.gpu.right import ARCHITECTURES, SIZES
from common.gpu.rows import Row, Setting, at_most, figure, holds
from common.random_model import save
from worker.machine.gpu_assignment import GpuLocks, Pools
from worker.machine.gpus import Gpu, list_gpus
from worker.machine.torch_device import compute_device
from worker.machine.vllm_python import CPU_BUILD, vllm_build
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel, load_base_model
from worker.serving_client.engine_choice import gpu_engine, job_engines

ROUTER = ".gate."
"""In the names of a router's parameters."""
COPIED = 0.5
"""Share of a model's bytes that may stay in the machine's memory once it is on the GPU."""


def run(setting: Setting) -> Iterator[Row]:
    device = compute_device()
    yield holds("torch opens the device", device.type == setting.device, str(device))
    yield _auto(setting)
    yield from _locks(setting)
    yield from _loaded(setting)
    yield _routers(setting)


def _auto(setting: Setting) -> Row:
    """What `rollout.engine: auto` becomes here."""
    with_vllm = setting.device == "cuda" and vllm_build() not in (None, CPU_BUILD)
    engine, why = job_engines()[0], gpu_engine()[1]
    return holds("engine of auto", engine == ("vllm" if with_vllm else "transformers"), f"{engine}: {why}")


def _locks(setting: Setting) -> Iterator[Row]:
    """Two workers of one machine; without a GPU with one that is made up."""
    gpus = list_gpus() if setting.device == "cuda" else [Gpu("0", "GPU-0", total=1)]
    described = "; ".join(f"{gpu.device} {gpu.uuid[:12]} {gpu.total / 2**30:.0f} GiB" for gpu in gpus)
    named = all(gpu.uuid.startswith("GPU-") and gpu.total for gpu in gpus)
    yield holds("GPUs have numbers, ids and sizes", bool(gpus) and named, described)
    pools, locks = Pools(tuple(gpus)), GpuLocks(setting.folder / "gpus")
    holds_of_jobs = [locks.take(pools, f"job {number}") for number in range(len(gpus) + 1)]
    yield holds("a GPU has one job", all(holds_of_jobs[:-1]) and holds_of_jobs[-1] is None)
    for hold in filter(None, holds_of_jobs):
        hold.release()


def _loaded(setting: Setting) -> Iterator[Row]:
    """Weights go straight to the device."""
    folder = setting.folder / "model"
    save(folder, shape_of("0.5B", setting), device=setting.device)
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    before = _own_bytes()
    model = load_base_model(folder).model
    host_bytes = _own_bytes() - before
    tensors = [*model.parameters(), *model.buffers()]
    yield holds(
        "every weight and buffer is on the device", {t.device.type for t in tensors} == {setting.device}
    )
    name = "0.5B: host memory per byte of weights, once loaded"
    yield (
        at_most(name, host_bytes / size, COPIED)
        if setting.device == "cuda"
        else figure(name, host_bytes / size, "")
    )


def _own_bytes() -> int:
    """Anonymous memory of this process: mapped files do not count."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def _routers(setting: Setting) -> Row:
    config = AutoConfig.for_model("qwen3_moe", **SIZES | ARCHITECTURES["qwen3_moe"])
    model = AutoModelForCausalLM.from_config(config).to(setting.device, torch.bfloat16)
    host = LocalHost(LoadedModel(model.eval().requires_grad_(False), (1,), 1024))
    policy = host.create_policy("policy", rank=4, alpha=8.0, targets="all-linear", seed=0)
    adapted = [name for name in policy.weights() if ROUTER in name]
    return holds("a mixture's router has no adapter", not adapted, ", ".join(adapted[:2]))
