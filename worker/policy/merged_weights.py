"""Adapter merged into copies of the weights: one product per layer instead of three. The backward pass needs only the
layer's input.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal

import torch
import torch.nn.functional as F
from peft import PeftModel
from peft.tuners.lora import Linear as LoraLinear
from torch import Tensor
from torch.autograd.function import once_differentiable

from worker.policy.adapter_linear import BesideLinear
from worker.policy.nf4 import is_nf4
from worker.policy.sharded import is_sharded

MERGED = (torch.float32, torch.float64)
"""Precisions in which the sum of weight and adapter is accurate enough."""
BESIDE = (torch.bfloat16, torch.float16)
"""Precisions in which the sum of weight and adapter would be rounded too much."""

Active = Callable[[], AbstractContextManager[None]]


@contextmanager
def merged(peft: PeftModel, policy: str) -> Iterator[Active]:
    """Yields a function that creates contexts in which linear layers compute with the weights that `policy`
    had when `merged` began; gradients reach the adapter.
    """
    model = peft.get_base_model()
    embedding = model.get_input_embeddings().weight
    swaps = [
        (parent, name, layer, BesideLinear(layer, policy) if how == "beside" else MergedLinear(layer, policy))
        for parent in model.modules()
        for name, layer in parent.named_children()
        if (how := arm(layer, policy)) and layer.base_layer.weight is not embedding
    ]

    @contextmanager
    def active() -> Iterator[None]:
        try:
            for parent, name, _, made in swaps:
                parent._modules[name] = made
            yield
        finally:
            for parent, name, layer, _ in swaps:
                parent._modules[name] = layer

    yield active


@contextmanager
def computing(
    activate: Callable[[str | None], AbstractContextManager[None]], peft: PeftModel, policy: str
) -> Iterator[None]:
    """Context in which the model computes with the weights that `policy` had at its start; gradients reach
    the adapter.
    """
    with activate(policy), merged(peft, policy) as active, active():
        yield


class MergedLinear(torch.nn.Module):
    """Linear layer (I → O) with its adapter merged."""

    def __init__(self, layer: LoraLinear, policy: str) -> None:
        super().__init__()
        base = layer.base_layer
        self.in_features, self.out_features = base.in_features, base.out_features
        self._scale = float(layer.scaling[policy])
        # In a tuple they are no parameters of this module.
        self._tensors: tuple[Tensor, Tensor, Tensor | None] = (
            layer.lora_A[policy].weight,
            layer.lora_B[policy].weight,
            base.bias,
        )
        down, up, _ = self._tensors
        with torch.no_grad():
            self._weight = torch.addmm(base.weight.detach(), up, down, alpha=self._scale)

    @property
    def weight(self) -> Tensor:
        return self._weight

    def set_weight(self, weight: Tensor) -> None:
        self._weight = weight

    @property
    def bias(self) -> Tensor | None:
        return self._tensors[2]

    def forward(self, x: Tensor) -> Tensor:
        down, up, bias = self._tensors
        return lora_linear(x, self._weight, bias, down, up, self._scale)


def lora_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None, down: Tensor, up: Tensor, scale: float
) -> Tensor:
    """Linear layer of x (…, I) with weight (O, I), which contains `scale · up @ down`; gradients reach x,
    `down` (R, I) and `up` (O, R) (Hu et al. 2021, equation 3).
    """
    if not torch.is_grad_enabled():
        return F.linear(x, weight, bias)
    output: Tensor = _LoraLinear.apply(x, weight, bias, down, up, scale)  # type: ignore[no-untyped-call]
    return output


class _LoraLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, down: Tensor, up: Tensor, scale: float
    ) -> Tensor:
        ctx.save_for_backward(x)
        # Held for longer than any pass, so not among what a pass keeps.
        ctx.weight, ctx.down, ctx.up, ctx.scale = weight, down.detach(), up.detach(), scale
        return F.linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        into_x = gradient @ ctx.weight if ctx.needs_input_grad[0] else None
        rows, inputs = gradient.flatten(0, -2), x.flatten(0, -2)
        narrow = rows @ (ctx.scale * ctx.up)
        into_down = narrow.T @ inputs
        into_up = rows.T @ (inputs @ (ctx.scale * ctx.down).T)
        return into_x, None, None, into_down, into_up, None


def arm(layer: torch.nn.Module, policy: str) -> Literal["merged", "beside"] | None:
    """How the layer's replacement computes; None for layers that are not replaced, such as DoRA, which is no
    plain sum.
    """
    if (
        type(layer) is not LoraLinear
        or policy not in vars(layer)["scaling"]
        or policy in vars(layer)["lora_variant"]
        or vars(layer)["_modules"]["lora_B"][policy].bias is not None
    ):
        return None
    base: Any = layer.base_layer
    if is_nf4(base.weight):
        return "beside"
    if type(base) is not torch.nn.Linear:
        return None
    if is_sharded(base.weight):
        # A copy with the adapter would be a whole matrix on each rank.
        return "beside"
    precision = base.weight.dtype
    return "merged" if precision in MERGED else "beside" if precision in BESIDE else None
