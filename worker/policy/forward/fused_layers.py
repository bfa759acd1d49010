"""Fused GPU kernels for norms, rotary positions and gates.

transformers computes them operation by operation, and each reads and writes all states of the layer. Fused results are
equal up to rounding; a module that fails a trial keeps its own code.
"""

import logging
import sys
from collections.abc import Callable
from functools import cache
from types import MethodType
from typing import Any

import torch
import torch._inductor.config as inductor
import torch.nn.functional as F
from torch import Tensor

from worker.machine.memory import is_out_of_memory

log = logging.getLogger(__name__)

Compiler = Callable[[Callable[..., Any]], Callable[..., Any]]
ROTARY = "apply_rotary_pos_emb"
"""Name of the rotary function in transformers' architectures."""
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-5}
_LOW_PRECISION_TOLERANCE = 0.02
"""Tolerance: norm of the difference relative to that of the values."""
_ROWS = 5
"""Rows of a trial."""


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as one kernel if torch can compile it. Sizes may differ between calls."""
    # A pool of compiler processes would stay for as long as this process, for a handful of kernels.
    inductor.compile_threads = 1
    compiled_function: Callable[..., Any] = torch.compile(function, dynamic=True)
    return compiled_function


def fuse(model: torch.nn.Module, compiler: Compiler = compiled) -> dict[str, int]:
    """Replace code of `model`'s modules by fused code for its lifetime; returns how many norms, gates and rotary
    functions.

    compiler: creates one kernel of a function of tensors. Modules for which it fails keep their own code.
    """
    counts = {"norms": 0, "gates": 0, "rotary": 0}
    gate = compiler(_gate)
    for module in list(model.modules()):
        if _is_norm(module):
            counts["norms"] += _swap(module, _norm, _sample(module, _norm_width(module)))
        elif _is_gated(module):
            counts["gates"] += _swap(module, _gated(gate), _sample(module, _width(module)))
        elif type(module).__name__.endswith("Attention"):
            counts["rotary"] = counts["rotary"] or _rotary(type(module).__module__, compiler, model)
    log.info("Fused on %s: %s", type(model).__name__, counts)
    return counts


def _norm(self: Any, x: Tensor) -> Tensor:
    """RMSNorm over the last dimension (Zhang and Sennrich 2019, equation 4)."""
    return F.rms_norm(x, self.weight.shape, self.weight, self.variance_epsilon)


def _gated(gate: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any, Tensor], Tensor]:
    def forward(self: Any, x: Tensor) -> Tensor:
        output: Tensor = self.down_proj(gate(self.gate_proj(x), self.up_proj(x)))
        return output

    return forward


def _gate(gate: Tensor, up: Tensor) -> Tensor:
    """SwiGLU without its products (Shazeer 2020, equation 6)."""
    return F.silu(gate) * up


def _is_norm(module: Any) -> bool:
    weight = getattr(module, "weight", None)
    return isinstance(weight, Tensor) and weight.dim() == 1 and hasattr(module, "variance_epsilon")


def _is_gated(module: Any) -> bool:
    parts = ("gate_proj", "up_proj", "down_proj")
    return type(getattr(module, "act_fn", None)).__name__ in ("SiLU", "SiLUActivation") and all(
        isinstance(getattr(module, part, None), torch.nn.Module) for part in parts
    )


def _norm_width(module: Any) -> int:
    return int(module.weight.shape[0])


def _width(module: Any) -> int:
    return int(module.gate_proj.in_features)


def _sample(module: torch.nn.Module, width: int) -> Tensor:
    weight = next(module.parameters())
    drawn = torch.randn((1, _ROWS, width), generator=torch.Generator().manual_seed(0))
    return drawn.to(weight.device, weight.dtype)


def _swap(module: torch.nn.Module, forward: Callable[..., Tensor], x: Tensor) -> bool:
    """Whether the module now uses `forward`: output and gradient for `x` must equal those of its own code."""
    fused = MethodType(forward, module)
    if not _agree(module.forward, fused, x):
        return False
    vars(module)["forward"] = fused
    return True


def _agree(own: Callable[..., Any], fused: Callable[..., Any], *inputs: Tensor) -> bool:
    results = []
    for function in (own, fused):
        leaves = [x.clone().requires_grad_() for x in inputs]
        try:
            with torch.enable_grad():
                outputs = function(*leaves)
                outputs = outputs if isinstance(outputs, tuple) else (outputs,)
                behind = [
                    torch.linspace(-1, 1, o.numel(), device=o.device).view(o.shape).to(o) for o in outputs
                ]
                results.append([*outputs, *torch.autograd.grad(outputs, leaves, behind, allow_unused=True)])
        except Exception as error:
            # A compiler, or a stranger's code, can fail in any way.
            if is_out_of_memory(error):
                raise
            log.warning("Not fused: %s", str(error).strip().splitlines()[0] if str(error) else repr(error))
            return False
    return all(_close(one, other) for one, other in zip(*results, strict=True))


def _close(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    tolerance = _TOLERANCE.get(one.dtype, _LOW_PRECISION_TOLERANCE)
    return bool((one.double() - other.double()).norm() <= tolerance * one.double().norm())


def _rotary(name: str, compiler: Compiler, model: torch.nn.Module) -> int:
    """1 if the architecture's rotary function is fused on GPUs."""
    namespace = vars(sys.modules[name])
    own = namespace.get(ROTARY)
    if own is None:
        return 0
    if hasattr(own, "fused"):  # by an earlier layer, or for another model of this process
        return 1
    weight = next(model.parameters())
    states = [
        torch.randn((1, heads, _ROWS, 8), generator=torch.Generator().manual_seed(heads)).to(weight)
        for heads in (2, 1)
    ]
    angles = torch.linspace(0, 3, _ROWS * 8, device=weight.device).view(1, _ROWS, 8).to(weight.dtype)
    fused = compiler(own)
    if not _agree(own, fused, *states, angles.cos(), angles.sin()):
        return 0
    namespace[ROTARY] = _on_gpus(own, fused, weight.device.type)
    return 1


def _on_gpus(own: Callable[..., Any], fused: Callable[..., Any], device: str) -> Callable[..., Any]:
    """Uses the plain function on other devices, since other models of the architecture may be there."""

    def rotary(q: Tensor, *others: Any, **named: Any) -> Any:
        return (fused if q.device.type == device else own)(q, *others, **named)

    rotary.fused, rotary.own = True, own  # type: ignore[attr-defined]
    return rotary


@cache
def compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    return compiled(function)
