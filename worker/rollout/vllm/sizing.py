"""GPU memory of a vLLM server, and how much it releases during updates."""

import math
from dataclasses import dataclass
from typing import Literal

from reinforge.errors import JobFailure

Sleep = Literal["no", "cache", "weights"]

BLOCK = 16
RESERVE_BYTES = 2**30
HOST_RESERVE_BYTES = 2 * 2**30
SERVED_ROWS = 32
SERVED_SHARE = 0.5
"""Share that an on-demand server takes of the memory besides the weights; the rest is for later jobs."""
_LARGE_BYTES = 70 * 2**30
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Demand:
    """Memory demand in bytes on each GPU; `longest` is in tokens, `rows` a count."""

    weights: int
    working: int
    kv_token: int
    longest: int
    rows: int
    activations: int = 0
    row_activations: int = 0
    checkpointed_activations: int = 0


@dataclass(frozen=True, slots=True)
class Sizes:
    kv_bytes: int
    max_model_len: int
    max_num_seqs: int
    sleeps: Sleep
    share: float


def batch_limits(gpu_total: int) -> tuple[int, int]:
    """vLLM's default limits of tokens and completions per batch, by GPU size."""
    return (8192, 1024) if gpu_total >= _LARGE_BYTES else (2048, 256)


def sizes(
    gpu_free: int,
    gpu_total: int,
    demand: Demand,
    *,
    sleeps: Sleep | None = None,
    host_free: int | None = None,
) -> Sizes:
    """Sizes of a server that shares a GPU with the trainer; it releases only the memory that updates need."""
    row = math.ceil(demand.longest / BLOCK) * BLOCK * demand.kv_token
    spare = 2 * BLOCK * demand.kv_token
    rest = gpu_free - RESERVE_BYTES - demand.weights - demand.working
    if rest < row + spare:
        raise _short(gpu_free, demand, row + spare)
    most = min(demand.rows, batch_limits(gpu_total)[1])
    cache_bytes = row * most + spare
    needed = sleeps or _needed_sleep(rest, cache_bytes, demand)
    if needed == "weights" and host_free is not None and host_free < demand.weights + HOST_RESERVE_BYTES:
        if sleeps or demand.checkpointed_activations > rest:
            raise _no_place_asleep(host_free, demand)
        needed = "cache"
    room = rest if needed != "no" else max(row + spare, rest - demand.activations, rest // 2)
    kv_bytes = min(cache_bytes, room)
    # Most completions end before they are as long as they may be.
    together = max(1, min(most, 2 * (kv_bytes // row)))
    share = math.floor(1000 * (demand.weights + demand.working + kv_bytes) / gpu_total) / 1000
    return Sizes(kv_bytes, max(3, demand.longest), together, needed, max(share, 0.001))


def _needed_sleep(rest: int, cache_bytes: int, demand: Demand) -> Sleep:
    if demand.activations == 0 or cache_bytes + demand.activations <= rest:
        return "no"
    if demand.row_activations <= rest:
        return "cache"
    # Layers are computed twice then; the weights' place is worth moving them where it spares that, or all fails.
    spared = demand.row_activations <= rest + demand.weights
    return "cache" if demand.checkpointed_activations <= rest and not spared else "weights"


def served_sizes(gpu_free: int, gpu_total: int, demand: Demand) -> Sizes:
    """Sizes of an on-demand server, whose `longest` is cut to fit. Raises JobFailure `gpu_memory_short`
    (retryable).
    """
    rest = gpu_free - RESERVE_BYTES - demand.weights - demand.working
    tokens = max(0, int(rest * SERVED_SHARE)) // demand.kv_token // BLOCK * BLOCK - 2 * BLOCK
    context = min(demand.longest, tokens)
    if context < min(demand.longest, 1024):
        raise _short(gpu_free, demand, 2 * 1024 * demand.kv_token)
    kv_bytes = (min(tokens, SERVED_ROWS * context) + 2 * BLOCK) * demand.kv_token
    share = math.floor(1000 * (demand.weights + demand.working + kv_bytes) / gpu_total) / 1000
    return Sizes(kv_bytes, context, min(demand.rows, batch_limits(gpu_total)[1]), "no", max(share, 0.001))


def _no_place_asleep(host_free: int, demand: Demand) -> JobFailure:
    return JobFailure(
        f"vLLM's weights, {demand.weights / _GIB:.1f} GiB, have to leave the GPU during updates, and the machine has "
        f"{host_free / _GIB:.1f} GiB of memory for them.",
        code="gpu_memory_short",
        hint="Free memory of the machine, or give vLLM another GPU (REINFORGE_VLLM_DEVICES on the worker), then "
        "resume. Or lower rollout.max_completion_tokens, or use rollout.engine transformers.",
        retryable=True,
    )


def _short(gpu_free: int, demand: Demand, cache: int) -> JobFailure:
    parts = (demand.weights, demand.working + RESERVE_BYTES, cache)
    weights, working, least = (f"{part / _GIB:.1f}" for part in parts)
    return JobFailure(
        f"vLLM needs {sum(parts) / _GIB:.1f} GiB of the GPU, and {gpu_free / _GIB:.1f} are free: {weights} for the "
        f"model, {working} to work with, {least} for the keys and values of one completion.",
        code="gpu_memory_short",
        hint="Free memory of the GPU, or give vLLM another one (REINFORGE_VLLM_DEVICES on the worker), then resume. Or "
        "lower rollout.max_completion_tokens, take a smaller model, or use rollout.engine transformers.",
        retryable=True,
    )
