"""An adapter added into copies of the weights, to sample and to train with: one product per layer where there were
three, and nothing to keep for the backward pass but the layer's input."""

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

MERGED = (torch.float32, torch.float64)
"""Where the sum of weight and adapter is as exact as the two products."""
BESIDE = (torch.bfloat16, torch.float16)
"""Where the sum would be rounded to the weight's few digits. Empty, such layers compute as PEFT's own."""

Active = Callable[[], AbstractContextManager[None]]
"""Makes a context in which the model computes as what it was prepared for."""


@contextmanager
def merged(peft: PeftModel, policy: str) -> Iterator[Active]:
    """For as long as the block runs the linear layers have stand-ins that compute with `policy` as it is when the block
    begins; in the context that is yielded the model computes with them, and gradients reach the adapter.

    In float32 and float64 a stand-in has a copy of the weight with the adapter in it (`MergedLinear`), in bfloat16 and
    float16 copies of the adapter alone (`BesideLinear`). The weights themselves are never changed, so nothing has to
    be taken out again. Layers of other kinds keep their adapters.
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
    """Inside the context the model computes as `policy` is when it begins, with gradients to its adapter."""
    with activate(policy), merged(peft, policy) as active, active():
        yield


class MergedLinear(torch.nn.Module):
    """A linear layer (I → O) with an adapter in its weight; it has no parameters of its own."""

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
        """(O, I)."""
        return self._weight

    def set_weight(self, weight: Tensor) -> None:
        """Replace the weight by an equal one, for example a view."""
        self._weight = weight

    @property
    def bias(self) -> Tensor | None:
        """(O,)."""
        return self._tensors[2]

    def forward(self, x: Tensor) -> Tensor:
        """(…, I) → (…, O)."""
        down, up, bias = self._tensors
        return lora_linear(x, self._weight, bias, down, up, self._scale)


def lora_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None, down: Tensor, up: Tensor, scale: float
) -> Tensor:
    """x (…, I) through weight (O, I), which holds `scale · up @ down`; down (R, I), up (O, R).

    Gradients are those of W x + scale · up (down x), of x, `down` and `up` alone (Hu et al. 2021, equation 3).
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
    """How the layer's stand-in computes; None where it has none: DoRA and its like are no plain sum."""
    if (
        type(layer) is not LoraLinear
        or type(layer.base_layer) is not torch.nn.Linear
        or policy not in vars(layer)["scaling"]
        or policy in vars(layer)["lora_variant"]
        or vars(layer)["_modules"]["lora_B"][policy].bias is not None
    ):
        return None
    precision = layer.base_layer.weight.dtype
    return "merged" if precision in MERGED else "beside" if precision in BESIDE else None
