"""LoRA adapter beside a low-precision, quantised or sharded linear layer: computes two narrow products, with float32
master weights and gradients. The backward pass needs only the layer's input.
"""

from typing import Any, Protocol

import torch
import torch.nn.functional as F
from peft.tuners.lora import Linear as LoraLinear
from torch import Tensor
from torch.autograd.function import once_differentiable

from worker.policy.forward.precision import float32_product
from worker.policy.nf4 import Nf4Weight, is_nf4
from worker.policy.sharded import ShardedWeight, is_sharded


class FrozenWeight(Protocol):
    @property
    def dtype(self) -> torch.dtype:
        """Precision in which products are computed."""

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """Output (…, O) of the layer for x (…, I), without gradient."""

    def dense(self) -> Tensor:
        """The weight as a dense tensor (O, I)."""


class DenseWeight:
    def __init__(self, weight: Tensor) -> None:
        self._weight = weight.detach()
        self.dtype = weight.dtype

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(x, self._weight, bias)

    def dense(self) -> Tensor:
        return self._weight


def frozen_weight(base: Any) -> FrozenWeight:
    if is_nf4(base.weight):
        return Nf4Weight(base.weight)
    return ShardedWeight(base) if is_sharded(base.weight) else DenseWeight(base.weight)


class BesideLinear(torch.nn.Module):
    """Linear layer (I → O) in bfloat16, float16 or NF4, or divided among ranks, with an adapter of rank R."""

    def __init__(self, layer: LoraLinear, policy: str) -> None:
        super().__init__()
        base = layer.base_layer
        self.in_features, self.out_features = base.in_features, base.out_features
        self._scale = float(layer.scaling[policy])
        frozen = frozen_weight(base)
        # In tuples they are no parameters of this module.
        self._base: tuple[FrozenWeight, Tensor | None] = (frozen, base.bias)
        self._masters: tuple[Tensor, Tensor] = (layer.lora_A[policy].weight, layer.lora_B[policy].weight)
        with torch.no_grad():
            down, up = self._masters
            self._copies = (down.to(frozen.dtype), (up * self._scale).to(frozen.dtype))

    @property
    def weight(self) -> Tensor:
        """Weight of the base layer (O, I), without the adapter."""
        return self._base[0].dense()

    @property
    def bias(self) -> Tensor | None:
        return self._base[1]

    def forward(self, x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return _product(x, *self._base, *self._copies)
        output: Tensor = _BesideLinear.apply(x, *self._base, *self._copies, *self._masters, self._scale)  # type: ignore[no-untyped-call]
        return output


def _product(x: Tensor, weight: FrozenWeight, bias: Tensor | None, down: Tensor, up: Tensor) -> Tensor:
    output = weight.product(x, bias)
    narrow = x.reshape(-1, x.shape[-1]) @ down.T
    output.view(-1, output.shape[-1]).addmm_(narrow, up.T)
    return output


class _BesideLinear(torch.autograd.Function):
    """Computes W x + b + up (down x), with `up` already scaled; gradients reach x and the adapter's master
    weights (Hu et al. 2021, equation 3).
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: FrozenWeight,
        bias: Tensor | None,
        down: Tensor,
        up: Tensor,
        down_master: Tensor,
        up_master: Tensor,
        scale: float,
    ) -> Tensor:
        ctx.save_for_backward(x)
        # Held for longer than any pass, so not among what a pass keeps.
        ctx.weight, ctx.down, ctx.up, ctx.scale = weight, down, up, scale
        ctx.precision = (down_master.dtype, up_master.dtype)
        return _product(x, weight, bias, down, up)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        rows, inputs = gradient.reshape(-1, gradient.shape[-1]), x.reshape(-1, x.shape[-1])
        narrow = rows @ ctx.up
        into_x = None
        if ctx.needs_input_grad[0]:
            into_x = (rows @ ctx.weight.dense()).addmm_(narrow, ctx.down).view(x.shape)
        into_down = float32_product(narrow.T, inputs)
        into_up = float32_product(rows.T, inputs @ ctx.down.T)
        if ctx.scale != 1.0:
            into_up.mul_(ctx.scale)
        down_dtype, up_dtype = ctx.precision
        return into_x, None, None, None, None, into_down.to(down_dtype), into_up.to(up_dtype), None
