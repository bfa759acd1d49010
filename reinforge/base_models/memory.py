"""Estimates the memory in bytes to serve a model and to train an adapter.

Assumes bfloat16 weights, or NF4 in linear layers; an adapter on every linear layer at 16 bytes a parameter;
gradient checkpointing; 32-bit logits. Excludes the runtime, fragmentation and a separate vLLM server.
"""

from pydantic import BaseModel, ConfigDict

RANK = 16
TOKENS = 4096
SEQUENCES = 32
_WEIGHT, _ADAPTER, _FULL = 2, 16, 4
_NF4 = 1 / 2 + 1 / 64 + 4 / (64 * 256)
"""Bytes per weight: 4 bits and, for scales, 1 byte per block of 64 weights and 4 bytes per 256 blocks."""


class ModelShape(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    layers: int | None = None
    hidden: int | None = None
    intermediate: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    vocabulary: int | None = None
    lora_per_rank: int | None = None
    """Adapter parameters per unit of rank: Σ (inputs + outputs) of linear layers."""
    linear: int | None = None
    """Number of weights that NF4 quantises; null for mixtures of experts or if not recorded."""


class MemoryEstimate(BaseModel):
    """Estimated memory in bytes; null where the model's configuration lacks a size."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    weights: int
    adapter: int | None = None
    """An adapter of rank 16, with its gradients and optimizer state."""
    activations: int | None = None
    """Activations and logits of a micro-batch of 4,096 tokens."""
    kv_per_token: int | None = None
    serve: int | None = None
    """Weights and the KV cache of 32 sequences of 1,024 tokens (or the model's context, if shorter)."""
    train: int | None = None
    """Weights, adapter, and the larger of activations (training) and KV cache (sampling)."""
    weights_nf4: int | None = None
    """Weights with `base.precision: nf4`."""
    train_nf4: int | None = None
    """`train` with `base.precision: nf4`."""


def estimate(parameters: int, shape: ModelShape, context_length: int | None = None) -> MemoryEstimate:
    weights = parameters * _WEIGHT
    adapter = None if shape.lora_per_rank is None else RANK * shape.lora_per_rank * _ADAPTER
    kv = None
    if shape.layers and shape.kv_heads and shape.head_dim:
        kv = 2 * shape.layers * shape.kv_heads * shape.head_dim * _WEIGHT
    activations = _activations(shape)
    cache = None if kv is None else kv * SEQUENCES * min(1024, context_length or 1024)
    serve = None if cache is None else weights + cache
    train = None
    if adapter is not None and activations is not None and cache is not None:
        # Sampling and training take turns: the larger of the two counts.
        train = weights + adapter + max(activations, cache)
    weights_nf4 = None if shape.linear is None else round(weights + shape.linear * (_NF4 - _WEIGHT))
    return MemoryEstimate(
        weights=weights,
        adapter=adapter,
        activations=activations,
        kv_per_token=kv,
        serve=serve,
        train=train,
        weights_nf4=weights_nf4,
        train_nf4=None if train is None or weights_nf4 is None else train - weights + weights_nf4,
    )


def _activations(shape: ModelShape) -> int | None:
    if not (shape.layers and shape.hidden and shape.vocabulary):
        return None
    inner = shape.intermediate or 4 * shape.hidden
    between = shape.layers * shape.hidden * _WEIGHT
    inside = (8 * shape.hidden + 3 * inner) * _WEIGHT
    logits = 2 * shape.vocabulary * _FULL
    return TOKENS * (between + inside + logits)
