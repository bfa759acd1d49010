"""How a vLLM server is started: its arguments and its environment. Facts about vLLM 0.32 that tests hold it to."""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

from worker.rollout.vllm.sizing import Sleep

MAX_LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM takes for --max-lora-rank."""
BASE = "base"
"""Name of the model without an adapter."""
STREAM_INTERVAL = 16
"""Tokens between two pieces of a completion; the first comes with the first token."""
BATCH_TOKENS, SEQUENCES = 2048, 128
"""Of a forward batch on the CPU: tokens, unless one prompt may be longer, and completions; vLLM's own numbers."""
GPU_MEMORY = "REINFORGE_VLLM_GPU_MEMORY"
"""Environment variable: the share of a GPU's memory that vLLM takes; unset: what `sizing` says."""
DEVICES = "REINFORGE_VLLM_DEVICES"
"""Environment variable: what vLLM gets as CUDA_VISIBLE_DEVICES, several for one server; unset: the trainer's."""
SLEEP = "REINFORGE_VLLM_SLEEP"
"""Environment variable: what vLLM gives up during updates: `on` weights and cache, `cache`, `off` nothing; unset: what
`sizing` says."""
_GIB = 2**30

_SLEEPS: dict[str, Sleep] = {"on": "weights", "cache": "cache", "off": "no"}
FLOAT32_HEAD = json.dumps({"head_dtype": "float32"})
"""The head's products are kept in float32, as the trainer has them: logits of 16 to 32 would be rounded to 0.125."""

STRUCTURED_OUTPUTS = {"backend": "guidance", "disable_any_whitespace": True}
"""Without the second a model may write white space between the parts of a JSON value until its tokens are used up."""


@dataclass(frozen=True, slots=True)
class Options:
    model: Path
    dtype: str
    """`float32` or `bfloat16`, the trainer's own. Left alone, vLLM would take bfloat16."""
    device: str
    """`cpu` or `cuda`."""
    max_model_len: int
    """Tokens of the longest prompt with its completion; at least 3."""
    rank: int
    """Of the largest adapter."""
    loras: int = 1
    """Adapters that one batch may mix."""
    held: int = 3
    """Adapters that stay loaded: versions that can still be sampled, the newest, and one for evaluation."""
    cache_bytes: int | None = _GIB
    """For keys and values on each device; None: what `share` leaves on a GPU."""
    threads: int = 1
    """For arithmetic on the CPU."""
    sequences: int = 256
    """Completions of a forward batch on a GPU, at most."""
    batch_tokens: int = 2048
    """Tokens of a forward batch on a GPU, at most."""
    share: float = 0.4
    """Of each GPU's memory: vLLM does not start where less is free."""
    tensor_parallel: int = 1
    """GPUs that the model is divided among."""
    fused_experts: bool = False
    """Adapters may be on experts, all experts of a layer in one tensor, as PEFT writes them."""
    sleeps: Sleep = "no"
    """It can be told to give its memory up. vLLM does so on GPUs; on the CPU it stops and keeps its memory."""

    def arguments(self, socket: Path) -> list[str]:
        """Of `python -m vllm.entrypoints.openai.api_server`."""
        words = [
            *("--model", str(self.model), "--served-model-name", BASE, "--uds", str(socket)),
            *("--dtype", self.dtype, "--max-model-len", str(self.max_model_len)),
            *("--enable-lora", "--max-lora-rank", str(allowed_rank(self.rank))),
            *("--max-loras", str(self.loras), "--max-cpu-loras", str(max(self.held, self.loras))),
            # The sampler's own probabilities, after temperature. The model's generation_config would bring top-k and
            # penalties that nobody asked for.
            *("--logprobs-mode", "processed_logprobs", "--generation-config", "vllm"),
            *("--stream-interval", str(STREAM_INTERVAL), "--disable-uvicorn-access-log"),
            *("--structured-outputs-config", json.dumps(STRUCTURED_OUTPUTS)),
        ]
        if self.device == "cpu":
            # A prompt that is read in parts, as they are once a batch has more tokens than this, would end the server:
            # between the parts it sets the request's noise back, which a generator on the CPU cannot do.
            tokens = max(BATCH_TOKENS, self.max_model_len + SEQUENCES)
            whole = ("--no-enable-chunked-prefill", "--max-num-batched-tokens", str(tokens))
            return [*words, "--enforce-eager", *whole, "--max-num-seqs", str(SEQUENCES)]
        return [*words, *self._on_gpu()]

    def _on_gpu(self) -> list[str]:
        gpu_share = os.environ.get(GPU_MEMORY)
        words = ["--gpu-memory-utilization", gpu_share or f"{self.share:.3f}"]
        if not gpu_share and self.cache_bytes is not None:
            words += ["--kv-cache-memory-bytes", str(self.cache_bytes)]
        words += ["--max-num-seqs", str(self.sequences), "--max-num-batched-tokens", str(self.batch_tokens)]
        if self.dtype == "bfloat16":
            words += ["--hf-overrides", FLOAT32_HEAD]
        if self.tensor_parallel > 1:
            words += ["--tensor-parallel-size", str(self.tensor_parallel)]
        if self.fused_experts:
            words += ["--enable-mixed-moe-lora-format"]
        return words + (["--enable-sleep-mode"] if self.sleeps != "no" else [])

    def environment(self) -> dict[str, str]:
        """Beside what the server inherits."""
        variables = {
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "HF_HUB_OFFLINE": "1",
            "PYTHONUNBUFFERED": "1",
        }
        if self.sleeps != "no":
            variables["VLLM_SERVER_DEV_MODE"] = (
                "1"  # the ways to sleep and to wake up are there with it alone
            )
        if self.device == "cpu":
            # Bound to cores, two servers of a machine would share one core and leave the others idle.
            variables |= {
                "VLLM_CPU_KVCACHE_SPACE": str(max(1, math.ceil((self.cache_bytes or 0) / _GIB))),
                "VLLM_CPU_OMP_THREADS_BIND": "nobind",
                "OMP_NUM_THREADS": str(self.threads),
                "CUDA_VISIBLE_DEVICES": "",
                # The engine computes in its own process: a worker process would import vLLM once more, 8 s of CPU.
                "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            }
        elif devices := os.environ.get(DEVICES):
            variables |= {
                "CUDA_VISIBLE_DEVICES": devices,
                "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            }  # as nvidia-smi's
        return variables


def configured_sleep() -> Sleep | None:
    """Sleep mode from the environment; None: `sizing` decides."""
    return _SLEEPS.get(os.environ.get(SLEEP, ""))


def own_devices() -> list[str]:
    """GPUs reserved for vLLM; empty if it shares the trainer's."""
    return [word.strip() for word in os.environ.get(DEVICES, "").split(",") if word.strip()]


def allowed_rank(rank: int) -> int:
    """The smallest rank that vLLM can be started with and that has room for `rank`. At most 512, as the job's own."""
    return next(allowed for allowed in MAX_LORA_RANKS if rank <= allowed)
