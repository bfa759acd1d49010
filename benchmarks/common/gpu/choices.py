"""Section `choices`: what is decided about a GPU before a job trains on it."""

from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from common.gpu.models import shape_of
from common.gpu.right import ARCHITECTURES, SIZES
from common.gpu.rows import NO_GPU, Row, Setting, at_most, holds, of_gpu, waiting
from common.random_model import prompts, save
from reinforge.errors import Unavailable
from worker.machine.gpu_assignment import GpuLocks, Pools
from worker.machine.gpus import Gpu, list_gpus
from worker.machine.torch_device import compute_device
from worker.machine.vllm_python import CPU_BUILD, vllm_build
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel, load_base_model
from worker.policy.lora import LoraPolicy
from worker.rollout.vllm.api import has_fused_experts
from worker.serving_client.engine_choice import gpu_engine, job_engines
from worker.serving_client.placement import choose

ROUTER = ".gate."
"""In the names of a router's parameters."""
INVENTED = Gpu("0", "GPU-0", total=80 * 2**30, free=20 * 2**30)
COPIED = 0.5
"""Share of a model's bytes that may stay in the machine's memory once it is on the GPU."""


def run(setting: Setting) -> Iterator[Row]:
    device = compute_device()
    yield holds("torch opens the device", device.type == setting.device, str(device))
    yield _auto(setting)
    yield from _locks(setting)
    yield _serving(setting)
    yield from _loaded(setting)
    yield from _experts(setting)


def _auto(setting: Setting) -> Row:
    """What `rollout.engine: auto` becomes here."""
    with_vllm = setting.device == "cuda" and vllm_build() not in (None, CPU_BUILD)
    engine, why = job_engines()[0], gpu_engine()[1]
    return holds("engine of auto", engine == ("vllm" if with_vllm else "transformers"), f"{engine}: {why}")


def _locks(setting: Setting) -> Iterator[Row]:
    """Two workers of one machine; without a GPU with one that is made up."""
    gpus = list_gpus() if setting.device == "cuda" else [INVENTED]
    described = "; ".join(f"{gpu.device} {gpu.uuid[:12]} {gpu.total / 2**30:.0f} GiB" for gpu in gpus)
    named = all(gpu.uuid.startswith("GPU-") and gpu.total for gpu in gpus)
    name = "GPUs have numbers, ids and sizes"
    if setting.device == "cuda":
        yield holds(name, bool(gpus) and named, described)
    else:
        yield waiting(name, NO_GPU)
    pools, locks = Pools(tuple(gpus)), GpuLocks(setting.folder / "gpus")
    holds_of_jobs = [locks.take(pools, f"job {number}") for number in range(len(gpus) + 1)]
    yield holds("a GPU has one job", all(holds_of_jobs[:-1]) and holds_of_jobs[-1] is None)
    for hold in filter(None, holds_of_jobs):
        hold.release()


def _serving(setting: Setting) -> Row:
    """The place of a playground's model while a job has every GPU."""
    gpus = list_gpus() if setting.device == "cuda" else [INVENTED]
    small, large = gpus[0].total // 100, gpus[0].total
    try:
        choose(None, gpus, small, ram=0, requested="vllm", best="vllm")
    except Unavailable as error:
        refused = error.code == "gpu_busy"
    else:
        refused = False
    place = choose(None, gpus, large, ram=None, requested="auto", best="vllm")
    leaves_the_gpu = refused and place.engine == "transformers" and place.gpu is None
    return holds(
        "a playground leaves a job its GPU", leaves_the_gpu, f"{place.engine} on the CPU; vLLM is refused"
    )


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
    row = at_most("0.5B: host memory per byte of weights, once loaded", host_bytes / size, COPIED)
    yield of_gpu(row, setting)
    text = prompts(1, 8)[0]
    ids = AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
    yield holds("prompts of random models have tokens", len(ids) == 8, f"{len(ids)} of 8 words")


def _own_bytes() -> int:
    """Anonymous memory of this process: mapped files do not count."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def _experts(setting: Setting) -> Iterator[Row]:
    """Adapters of a mixture of experts: which layers they have, and the format that vLLM gets."""
    adapted = _mixture(setting, "all-linear").weights()
    on_router = [name for name in adapted if ROUTER in name]
    yield holds("a mixture's router has no adapter", not on_router, ", ".join(on_router[:2]))
    folder = setting.folder / "experts"
    _mixture(setting, ["q_proj", "experts"]).export(folder, base_model="measured")
    yield holds("adapters on experts are announced to vLLM", has_fused_experts(folder))


def _mixture(setting: Setting, targets: str | list[str]) -> LoraPolicy:
    config = AutoConfig.for_model("qwen3_moe", **SIZES | ARCHITECTURES["qwen3_moe"])
    model = AutoModelForCausalLM.from_config(config).to(setting.device, torch.bfloat16)
    host = LocalHost(LoadedModel(model.eval().requires_grad_(False), (1,), 1024))
    policy: LoraPolicy = host.create_policy("policy", rank=4, alpha=8.0, targets=targets, seed=0)
    return policy
