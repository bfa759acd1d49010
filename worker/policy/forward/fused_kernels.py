"""SwiGLU and rotary position embeddings as one kernel per forward or backward pass.

Kernels get contiguous tensors without gradients: for other kinds torch compiles again, and gives up after
eight times.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch._inductor.config as inductor
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

Compiler = Callable[[Callable[..., Any]], Callable[..., Any]]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    # A pool of compiler processes would stay for as long as this process, for a handful of kernels.
    inductor.compile_threads = 1
    compiled_function: Callable[..., Any] = torch.compile(function, dynamic=True)
    return compiled_function


@cache
def compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    return compiled(function)


@dataclass(frozen=True, slots=True)
class Kernels:
    gate: Callable[..., Tensor]
    gate_backward: Callable[..., tuple[Tensor, Tensor]]
    rotate: Callable[..., Tensor]
    rotate_backward: Callable[..., Tensor]


def kernels(compiler: Compiler) -> Kernels:
    return Kernels(compiler(_gate), compiler(_gate_backward), compiler(_rotate), compiler(_rotate_backward))


def _gate(gate: Tensor, up: Tensor) -> Tensor:
    """SwiGLU without its matrix products (Shazeer 2020, equation 6), of (tokens, width)."""
    return F.silu(gate) * up


def _gate_backward(gradient: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    sigmoid = torch.sigmoid(gate)
    of_silu = sigmoid * (1 + gate * (1 - sigmoid))
    return gradient * up * of_silu, gradient * gate * sigmoid


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding (Su et al. 2021, equation 34) of x (tokens, heads, width) by angles (tokens,
    width).
    """
    return x * cos[:, None] + _half_turned(x) * sin[:, None]


def _rotate_backward(gradient: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return gradient * cos[:, None] - _half_turned(gradient * sin[:, None])


def _half_turned(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def swiglu(gate: Tensor, up: Tensor, fused: Kernels) -> Tensor:
    output: Tensor = _Gate.apply(gate, up, fused)  # type: ignore[no-untyped-call]
    return output


def rotary(x: Tensor, cos: Tensor, sin: Tensor, fused: Kernels) -> Tensor:
    """Like `_rotate`, for x (rows, heads, tokens, width) and angles (rows or 1, tokens, width)."""
    output: Tensor = _Rotary.apply(x, cos, sin, fused)  # type: ignore[no-untyped-call]
    return output


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, kernels: Kernels) -> Tensor:
        ctx.save_for_backward(gate, up)
        ctx.kernels = kernels
        return kernels.gate(_by_token(gate), _by_token(up)).view(gate.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        gate, up = ctx.saved_tensors
        inputs = _by_token(gradients[0]), _by_token(gate), _by_token(up)
        of_gate, of_up = ctx.kernels.gate_backward(*inputs)
        return of_gate.view(gate.shape), of_up.view(up.shape), None


class _Rotary(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, kernels: Kernels) -> Tensor:
        ctx.save_for_backward(cos, sin)
        ctx.kernels = kernels
        return _rotated(kernels.rotate, x, cos, sin)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return _rotated(ctx.kernels.rotate_backward, gradients[0], *ctx.saved_tensors), None, None, None


def _rotated(kernel: Callable[..., Tensor], x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    rows, heads, tokens, width = x.shape
    by_token = _input(x.transpose(1, 2).reshape(-1, heads, width))
    angles = (_by_token(part.expand(rows, -1, -1)) for part in (cos, sin))
    return kernel(by_token, *angles).view(rows, tokens, heads, width).transpose(1, 2)


def _by_token(x: Tensor) -> Tensor:
    return _input(x.reshape(-1, x.shape[-1]))


def _input(x: Tensor) -> Tensor:
    # torch compiles again for a view of another shape of tensor, so it must not know of what x is a view.
    plain = x.contiguous().data
    # Known widths let the kernel load several values at a time.
    for dimension in range(1, plain.dim()):
        torch._dynamo.mark_static(plain, dimension)
    return plain
