"""GPU memory that a job or an on-demand server needs."""

from collections.abc import Sequence

from worker.machine.gpus import list_gpus
from worker.rollout.vllm.model_shape import TransformerShape
from worker.rollout.vllm.options import allowed_rank
from worker.rollout.vllm.sizing import Demand, batch_limits

BUSY_TOKENS = 8192
TRAINER_SHARE = 0.75
HEAD_BYTES = 5 * 2**29
STATE_BYTES = 12
"""Bytes per adapter parameter: gradient and two moments in float32."""


def job_demand(
    shape: TransformerShape,
    *,
    weights: int,
    longest: int,
    rows: int,
    rank: int,
    gpu_total: int,
    gpus: int = 1,
    shared: bool = True,
) -> Demand:
    """Memory demand of a job. weights: bytes of the whole model. longest: most tokens of a row."""
    tokens, sequences = batch_limits(gpu_total)
    sequences = min(rows, sequences)
    busy = max(longest, min(BUSY_TOKENS, rows * longest))
    return Demand(
        weights=-(-weights // gpus),
        working=shape.working(
            tokens=tokens, sequences=sequences, rank=allowed_rank(rank), tensor_parallel=gpus
        ),
        kv_token=shape.kv_token(tensor_parallel=gpus),
        longest=longest,
        rows=rows,
        activations=_activations(busy * shape.activation_token) if shared else 0,
        row_activations=_activations(longest * shape.activation_token) if shared else 0,
        checkpointed_activations=_activations(longest * shape.checkpointed_token) if shared else 0,
    )


def served_demand(
    shape: TransformerShape,
    *,
    weights: int,
    context: int,
    rows: int,
    rank: int,
    loras: int,
    gpu_total: int,
    gpus: int = 1,
) -> Demand:
    tokens, sequences = batch_limits(gpu_total)
    working = shape.working(
        tokens=tokens,
        sequences=min(rows, sequences),
        rank=allowed_rank(rank),
        loras=loras,
        tensor_parallel=gpus,
    )
    return Demand(-(-weights // gpus), working, shape.kv_token(tensor_parallel=gpus), context, rows)


def fused_experts(shape: TransformerShape, target_parameters: Sequence[str] | None) -> bool:
    return shape.experts > 0 and bool(target_parameters)


def _activations(pass_bytes: int) -> int:
    return int(pass_bytes / TRAINER_SHARE) + HEAD_BYTES


def memory_of(devices: Sequence[str]) -> tuple[int, int]:
    """Free bytes on the fullest GPU and total bytes of the smallest; zeros if unknown."""
    gpus = list_gpus(",".join(devices)) if devices else list_gpus()[:1]
    if len(gpus) < len(devices):
        return 0, 0
    return min((gpu.free for gpu in gpus), default=0), min((gpu.total for gpu in gpus), default=0)
