"""What samples on demand on this worker: deployments, the playground and stand-alone evaluations.

Jobs are not concerned: `rollout.engine` of the job says what samples its completions, wherever it runs.
"""

from typing import Literal

from worker.gpus import gpu_present
from worker.vllm_python import CPU_BUILD, vllm_build, vllm_missing, vllm_python, vllm_version

Engine = Literal["transformers", "vllm"]


def serving_engine(asked: Literal["auto"] | Engine) -> tuple[Engine, str]:
    """The engine, and why. `auto`: vLLM where it can use an NVIDIA device, else transformers."""
    if asked != "auto":
        return asked, f"REINFORGE_SERVING_ENGINE={asked}"
    if not gpu_present():
        return "transformers", "no NVIDIA device is here"
    if vllm_python() is None:
        return "transformers", f"{vllm_missing()}: `make vllm` adds it"
    if vllm_build() == CPU_BUILD:
        return "transformers", f"the vLLM here is {CPU_BUILD}: remove its environment, then `make vllm`"
    return "vllm", f"an NVIDIA device and vLLM {vllm_version()} are here"
