"""How a vLLM server is started: its arguments and its environment. Facts about vLLM 0.32 that tests hold it to."""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

MAX_LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM takes for --max-lora-rank."""
BASE = "base"
"""Name of the model without an adapter."""
STREAM_INTERVAL = 16
"""Tokens between two pieces of a completion; the first comes with the first token."""
BATCH_TOKENS, SEQUENCES = 2048, 128
"""Of a forward batch on the CPU: tokens, unless one prompt may be longer, and completions; vLLM's own numbers."""
GPU_MEMORY = "REINFORGE_VLLM_GPU_MEMORY"
"""Environment variable: the share of a GPU's memory that vLLM takes."""
GPU_SHARE = 0.4
"""Of the GPU, beside a trainer on the same one."""
DEVICES = "REINFORGE_VLLM_DEVICES"
"""Environment variable: what vLLM gets as CUDA_VISIBLE_DEVICES; unset: the trainer's."""
SLEEP = "REINFORGE_VLLM_SLEEP"
"""Environment variable: whether vLLM gives its memory up during updates, `on` or `off`; unset: where it shares a GPU
with the trainer."""
_GIB = 2**30

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
    """Adapters that stay loaded: versions that may still be asked for, the newest, and one for evaluation."""
    cache_bytes: int = _GIB
    """For keys and values on the CPU."""
    threads: int = 1
    """For arithmetic on the CPU."""
    sleeps: bool = False
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
        share = os.environ.get(GPU_MEMORY) or str(GPU_SHARE)
        return [*words, "--gpu-memory-utilization", share, *(["--enable-sleep-mode"] if self.sleeps else [])]

    def environment(self) -> dict[str, str]:
        """Beside what the server inherits."""
        found = {
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "HF_HUB_OFFLINE": "1",
            "PYTHONUNBUFFERED": "1",
        }
        if self.sleeps:
            found["VLLM_SERVER_DEV_MODE"] = "1"  # the ways to sleep and to wake up are there with it alone
        if self.device == "cpu":
            # Bound to cores, two servers of a machine would share one core and leave the others idle.
            found |= {
                "VLLM_CPU_KVCACHE_SPACE": str(max(1, math.ceil(self.cache_bytes / _GIB))),
                "VLLM_CPU_OMP_THREADS_BIND": "nobind",
                "OMP_NUM_THREADS": str(self.threads),
                "CUDA_VISIBLE_DEVICES": "",
            }
        elif devices := os.environ.get(DEVICES):
            found["CUDA_VISIBLE_DEVICES"] = devices
        return found


def sleeps(device: str) -> bool:
    """Whether a server beside a trainer on `device` is to sleep during updates."""
    return {"on": True, "off": False}.get(
        os.environ.get(SLEEP, ""), device == "cuda" and not os.environ.get(DEVICES)
    )


def allowed_rank(rank: int) -> int:
    """The smallest rank that vLLM can be started with and that has room for `rank`. At most 512, as the job's own."""
    return next(allowed for allowed in MAX_LORA_RANKS if rank <= allowed)
