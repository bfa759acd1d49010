"""Arguments and environment of a vLLM server."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from worker.machine import settings
from worker.rollout.vllm.sizing import Sleep

MAX_LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
BASE = "base"
STREAM_INTERVAL = 16
BATCH_TOKENS, SEQUENCES = 2048, 128
"""vLLM's defaults on the CPU."""
_GIB = 2**30

_SLEEPS: dict[str, Sleep] = {"on": "weights", "cache": "cache", "off": "no"}
FLOAT32_HEAD = json.dumps({"head_dtype": "float32"})
"""Float32 logits, as in the trainer: bfloat16 would round logits of 16 to 32 to multiples of 0.125."""

STRUCTURED_OUTPUTS = {"backend": "guidance", "disable_any_whitespace": True}
"""Options of constrained decoding. Without the second one, a model may write white space until
its tokens run out.
"""


@dataclass(frozen=True, slots=True)
class Options:
    model: Path
    dtype: str
    device: str
    max_model_len: int
    rank: int
    loras: int = 1
    held: int = 3
    """Most adapters in memory: the newest, older ones in use, and one for evaluation."""
    cache_bytes: int | None = _GIB
    """Bytes of the KV cache per device; None: the rest of `share` on a GPU."""
    threads: int = 1
    sequences: int = 256
    batch_tokens: int = 2048
    share: float = 0.4
    """Share of each GPU's memory; vLLM does not start if less is free."""
    tensor_parallel: int = 1
    fused_experts: bool = False
    """Whether adapters may have all experts of a layer in one tensor."""
    sleeps: Sleep = "no"

    gpu_memory: float | None = None
    """Share of each GPU's memory that the user set; replaces `share`."""
    devices: tuple[str, ...] = ()
    """GPUs of the server alone; if empty, it uses the trainer's."""

    @property
    def max_num_seqs(self) -> int:
        return SEQUENCES if self.device == "cpu" else self.sequences

    def arguments(self, socket: Path) -> list[str]:
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
            return [*words, "--enforce-eager", *whole, "--max-num-seqs", str(self.max_num_seqs)]
        return [*words, *self._on_gpu()]

    def _on_gpu(self) -> list[str]:
        share = f"{self.share:.3f}" if self.gpu_memory is None else f"{self.gpu_memory:g}"
        words = ["--gpu-memory-utilization", share]
        if self.gpu_memory is None and self.cache_bytes is not None:
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
        elif self.devices:
            variables |= {
                "CUDA_VISIBLE_DEVICES": ",".join(self.devices),
                "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            }  # as nvidia-smi's
        return variables


def configured_sleep() -> Sleep | None:
    return _SLEEPS.get(settings.vllm_sleep() or "")


def allowed_rank(rank: int) -> int:
    return next(allowed for allowed in MAX_LORA_RANKS if rank <= allowed)
