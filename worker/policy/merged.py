"""An adapter added into copies of the weights, to sample with: two small products less per layer and token."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import torch
from peft import PeftModel
from peft.tuners.lora import Linear as LoraLinear
from torch import Tensor

Active = Callable[[], AbstractContextManager[None]]
"""Makes a context in which the model computes as what it was prepared for."""


@contextmanager
def merged(peft: PeftModel, policy: str) -> Iterator[Active]:
    """For as long as the block runs there are copies of the float32 linear layers' weights with `policy` in them.

    In the context that is yielded those layers compute with the copies and without their adapters. The weights
    themselves are never changed, so nothing has to be taken out again. Float32 alone: the sum is as exact as the two
    products, which in bfloat16 it would not be. Layers of other kinds keep their adapters.
    """
    model = peft.get_base_model()
    embedding = model.get_input_embeddings().weight
    swaps = [
        _Swap(parent, name, layer, layer.base_layer.weight.data, _sum(layer, policy))
        for parent in model.modules()
        for name, layer in parent.named_children()
        if _fits(layer, policy) and layer.base_layer.weight is not embedding
    ]

    @contextmanager
    def active() -> Iterator[None]:
        try:
            for swap in swaps:
                swap.parent._modules[swap.name] = swap.layer.base_layer
                swap.layer.base_layer.weight.data = swap.summed
            yield
        finally:
            for swap in swaps:
                swap.layer.base_layer.weight.data = swap.weight
                swap.parent._modules[swap.name] = swap.layer

    yield active


@dataclass(frozen=True, slots=True)
class _Swap:
    parent: torch.nn.Module
    name: str
    layer: LoraLinear
    weight: Tensor
    summed: Tensor


def _fits(layer: torch.nn.Module, policy: str) -> bool:
    return (
        type(layer) is LoraLinear
        and type(layer.base_layer) is torch.nn.Linear
        and layer.base_layer.weight.dtype == torch.float32
        and policy in vars(layer)["scaling"]
        and policy not in vars(layer)["lora_variant"]  # DoRA and its like: not a plain sum
    )


def _sum(layer: LoraLinear, policy: str) -> Tensor:
    with torch.no_grad():
        summed: Tensor = layer.base_layer.weight.data + layer.get_delta_weight(policy)
    return summed
