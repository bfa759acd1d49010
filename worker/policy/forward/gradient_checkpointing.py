"""Gradient checkpointing: saves only layer inputs and computes the rest again in the backward pass."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from worker.policy.forward.attention import KEYWORD, packed_attention

Pair = tuple[Tensor, Tensor]


def can_checkpoint(model: torch.nn.Module) -> bool:
    return any(isinstance(module, GradientCheckpointingLayer) for module in model.modules())


@contextmanager
def checkpointed(model: torch.nn.Module) -> Iterator[None]:
    """Context in which passes with gradient save only layer inputs and the keys and values written into an empty
    cache.
    """
    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    try:
        for layer in layers:
            vars(layer)["forward"] = partial(_again, model, layer.forward)
        yield
    finally:
        for layer in layers:
            vars(layer).pop("forward", None)


def _again(model: torch.nn.Module, forward: Callable[..., Any], *inputs: Any, **named: Any) -> Any:
    if not torch.is_grad_enabled():
        return forward(*inputs, **named)
    run_twice = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
    if named.get(KEYWORD) is not None:
        # The second time, too, the layer has to find the attention of packed lines.
        return run_twice(packed_attention(model)(forward), *inputs, **named)
    cache = named.get("past_key_values")
    if cache is None:
        return run_twice(forward, *inputs, **named)
    held = [(layer.keys, layer.values) if layer.is_initialized else None for layer in cache.layers]

    def run(*again: Any) -> tuple[Any, dict[int, Pair]]:
        stand_in = _StandIn(held)
        return forward(*again, **named | {"past_key_values": stand_in}), stand_in.written

    output, written = run_twice(run, *inputs)
    for index, (keys, values) in written.items():
        cache.update(keys, values, index)
    return output


class _StandIn:
    """Stand-in for the key-value cache: shows its content from before the layer ran, and only records what
    the layer writes.
    """

    def __init__(self, held: list[Pair | None]) -> None:
        self._held = held
        self.written: dict[int, Pair] = {}

    def update(self, keys: Tensor, values: Tensor, layer_idx: int, *_: Any, **__: Any) -> Pair:
        before = self._held[layer_idx] if layer_idx < len(self._held) else None
        if before is None:
            self.written[layer_idx] = (keys, values)
            return keys, values
        return torch.cat([before[0], keys], dim=-2), torch.cat([before[1], values], dim=-2)
