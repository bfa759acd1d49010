"""Chooses the engine for on-demand sampling, and for jobs with `auto`."""

from typing import Literal

from worker.machine import settings
from worker.machine.gpus import gpu_present
from worker.machine.vllm_python import CPU_BUILD, vllm_build, vllm_missing, vllm_python, vllm_version

Engine = Literal["transformers", "vllm"]


def job_engines() -> list[Engine]:
    """Engines available to jobs; `auto` takes the first."""
    installed: list[Engine] = ["transformers"]
    if settings.sampler_urls():
        return [*installed, "vllm"]
    if vllm_python() is None:
        return installed
    return ["vllm", *installed] if gpu_engine()[0] == "vllm" else [*installed, "vllm"]


def serving_engine(engine: Literal["auto"] | Engine) -> tuple[Engine, str]:
    if engine != "auto":
        return engine, f"REINFORGE_SERVING_ENGINE={engine}"
    return gpu_engine()


def gpu_engine() -> tuple[Engine, str]:
    """Return vLLM if it can use an NVIDIA device, else transformers, and the reason."""
    if not gpu_present():
        return "transformers", "no NVIDIA device is here"
    if vllm_python() is None:
        return "transformers", f"{vllm_missing()}: `make vllm` adds it"
    if vllm_build() == CPU_BUILD:
        return "transformers", f"the vLLM here is {CPU_BUILD}: remove its environment, then `make vllm`"
    return "vllm", f"an NVIDIA device and vLLM {vllm_version()} are here"
