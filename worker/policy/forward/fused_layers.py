"""Fused GPU kernels for norms, rotary position embeddings and gates, equal up to rounding."""

import logging
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.machine.memory import is_out_of_memory
from worker.policy.forward.fused_kernels import Compiler, Kernels, compiled, kernels, rotary, swiglu
from worker.policy.nf4 import product_dtype

log = logging.getLogger(__name__)

ROTARY = "apply_rotary_pos_emb"
FEWEST_TOKENS = 256
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-5}
_LOW_PRECISION_TOLERANCE = 0.02
"""Largest norm of the difference, relative to that of the values."""
_TOKENS = {"cuda": 1024}
_TOKENS_ELSEWHERE = 5


def fuse(model: torch.nn.Module, compiler: Compiler = compiled) -> dict[str, int]:
    """Replace norms, gates and rotary functions of `model` by fused kernels; returns how many of each."""
    counts = {"norms": 0, "gates": 0, "rotary": 0}
    fused = kernels(compiler)
    for module in list(model.modules()):
        if _is_norm(module):
            counts["norms"] += _swap(module, _norm, _sample(module, _norm_width(module)))
        elif _is_gated(module):
            counts["gates"] += _swap(module, _gated(fused), _sample(module, _width(module)), FEWEST_TOKENS)
        elif type(module).__name__.endswith("Attention"):
            counts["rotary"] = counts["rotary"] or _rotary(module, fused, next(model.parameters()))
    log.info("Fused on %s: %s", type(model).__name__, counts)
    return counts


def _norm(self: Any, x: Tensor) -> Tensor:
    """RMSNorm over the last dimension (Zhang and Sennrich 2019, equation 4)."""
    return F.rms_norm(x, self.weight.shape, self.weight, self.variance_epsilon)


def _gated(fused: Kernels) -> Callable[[Any, Tensor], Tensor]:
    def forward(self: Any, x: Tensor) -> Tensor:
        output: Tensor = self.down_proj(swiglu(self.gate_proj(x), self.up_proj(x), fused))
        return output

    return forward


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
    like = torch.empty((), dtype=product_dtype(weight), device=weight.device)
    return _drawn((1, _trial_tokens(weight), width), like)


def _drawn(shape: tuple[int, ...], like: Tensor) -> Tensor:
    generator = torch.Generator(like.device).manual_seed(0)
    return torch.randn(shape, generator=generator, device=like.device).to(like.dtype)


def _trial_tokens(weight: Tensor) -> int:
    return _TOKENS.get(weight.device.type, _TOKENS_ELSEWHERE)


def _swap(module: torch.nn.Module, fused: Callable[..., Tensor], x: Tensor, fewest: int = 0) -> bool:
    """Replace the forward pass by `fused`, for at least `fewest` tokens, if output and gradient for `x` are
    equal.
    """
    own = type(module).forward
    if not _agree(module.forward, MethodType(fused, module), [x]):
        return False

    def forward(self: Any, x: Tensor) -> Tensor:
        few = x.numel() < fewest * x.shape[-1]
        output: Tensor = (own if few else fused)(self, x)
        return output

    vars(module)["forward"] = MethodType(forward, module)
    return True


def _agree(
    own: Callable[..., Any],
    fused: Callable[..., Any],
    inputs: list[Tensor],
    constants: tuple[Tensor, ...] = (),
) -> bool:
    results = []
    for function in (own, fused):
        leaves = [x.clone().requires_grad_() for x in inputs]
        try:
            with torch.enable_grad():
                outputs = function(*leaves, *constants)
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


def _rotary(attention: torch.nn.Module, fused: Kernels, weight: Tensor) -> int:
    namespace = vars(sys.modules[type(attention).__module__])
    own = namespace.get(ROTARY)
    if own is None:
        return 0
    if hasattr(own, "fused"):  # by an earlier layer, or for another model of this process
        return 1
    tokens, width = _trial_tokens(weight), int(getattr(attention, "head_dim", 8))
    config = getattr(attention, "config", None)
    states = [
        _drawn((1, tokens, int(getattr(config, heads, 2)), width), weight).transpose(1, 2)
        for heads in ("num_attention_heads", "num_key_value_heads")
    ]
    angles = torch.linspace(0, 3, tokens * width, device=weight.device).view(1, tokens, width)
    constants = angles.cos().to(weight), angles.sin().to(weight)

    def both(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        return rotary(q, cos, sin, fused), rotary(k, cos, sin, fused)

    if not _agree(own, both, states, constants):
        return 0
    namespace[ROTARY] = _where_it_fits(own, both, weight.device.type)
    return 1


def _where_it_fits(own: Callable[..., Any], fused: Callable[..., Any], device: str) -> Callable[..., Any]:
    def chosen(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, *others: Any, **named: Any) -> Any:
        fits = (
            q.device.type == device
            and q.dim() == 4
            and q.shape[0] * q.shape[2] >= FEWEST_TOKENS
            and cos.shape[-2:] == (q.shape[2], q.shape[3])
            and cos.dim() == 3
            and not others
            and named.get("unsqueeze_dim", 1) == 1
            and not named.keys() - {"unsqueeze_dim"}
        )
        return fused(q, k, cos, sin) if fits else own(q, k, cos, sin, *others, **named)

    chosen.fused, chosen.own = True, own  # type: ignore[attr-defined]
    return chosen
