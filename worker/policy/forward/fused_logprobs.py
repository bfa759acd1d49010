"""Log-probabilities and entropies of a slice of logits in three passes over the logits, on a GPU."""

import logging
from functools import cache

import torch
from torch import Tensor

from worker.machine.memory import is_out_of_memory
from worker.policy.forward.fused_kernels import compiled_once

log = logging.getLogger(__name__)

Scores = tuple[Tensor, Tensor, tuple[Tensor | None, Tensor | None]]
"""Log-probabilities (m,), entropies (m,), and the negative gradients of both with respect to the logits (m,
V).
"""
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.02, torch.float16: 0.01}


def fused_slice(logits: Tensor, targets: Tensor, precision: torch.dtype, slope: bool) -> Scores | None:
    """Log-probabilities and entropies of logits (m, V) float32 and targets (m,), with gradients in
    `precision`; None if torch cannot compile the kernel.
    """
    if logits.device.type != "cuda" or not _works(logits.device, precision):
        return None
    logprobs, entropies, of_logprob = compiled_once(_with_slope if slope else _without)(
        logits, targets, precision
    )
    return logprobs, entropies, (of_logprob, None)


def _with_slope(logits: Tensor, targets: Tensor, precision: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    logprobs, entropies, probabilities = _parts(logits, targets)
    columns = torch.arange(logits.shape[-1], device=logits.device)
    return logprobs, entropies, (probabilities - (columns == targets[:, None]).float()).to(precision)


def _without(logits: Tensor, targets: Tensor, precision: torch.dtype) -> tuple[Tensor, Tensor, None]:
    logprobs, entropies, _ = _parts(logits, targets)
    return logprobs, entropies, None


def _parts(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    total = logits.logsumexp(-1, keepdim=True)
    information = logits - total
    probabilities = information.exp()
    # A token of probability 0 adds 0, not 0 · -inf.
    entropies = -torch.where(probabilities > 0, probabilities * information, 0.0).sum(-1)
    logprobs = logits.gather(-1, targets[:, None])[:, 0] - total[:, 0]
    return logprobs, entropies, probabilities


@cache
def _works(device: torch.device, precision: torch.dtype) -> bool:
    generator = torch.Generator().manual_seed(0)
    logits = (4 * torch.randn((7, 1003), generator=generator)).to(device)
    targets = torch.arange(7, device=device) * 100
    try:
        for function in (_with_slope, _without):
            pairs = zip(
                compiled_once(function)(logits, targets, precision),
                function(logits, targets, precision),
                strict=True,
            )
            if not all(one is other or _close(one, other) for one, other in pairs):
                return False
    except Exception as error:
        # A compiler can fail in any way.
        if is_out_of_memory(error):
            raise
        log.warning(
            "Log-probabilities are computed without the fused kernel: %s",
            str(error).strip().splitlines()[0] if str(error) else repr(error),
        )
        return False
    return True


def _close(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return False
    return bool((one.float() - other.float()).norm() <= _TOLERANCE[one.dtype] * other.float().norm())
