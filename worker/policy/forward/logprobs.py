"""Log-probabilities and entropies of sampled tokens from hidden states, in slices, since float32 logits are
the largest tensor of a step.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from worker.policy.forward.fused_logprobs import fused_slice
from worker.policy.forward.precision import float32_product, has_float32_output

SLICE_BYTES = {"cpu": 2**27, "cuda": 2**30}
"""Bytes of a slice's float32 logits; peaks reach 2.5 times that."""
FROZEN_HEADS = True
"""Whether gradients of frozen heads are computed in the forward pass; False: slices are computed again in the
backward pass.
"""


def token_scores(
    hidden: Tensor,
    targets: Tensor,
    head: Callable[[Tensor], Tensor],
    *,
    vocabulary: int,
    temperature: float,
    entropy_gradient: bool = False,
) -> tuple[Tensor, Tensor]:
    """Log-probabilities (M,) and entropies (M,) of hidden (M, H) and targets (M,); at least float32."""
    size = max(1, SLICE_BYTES[hidden.device.type] // (4 * vocabulary))
    if FROZEN_HEADS and type(head) is torch.nn.Linear and not any(p.requires_grad for p in head.parameters()):
        differentiable = torch.is_grad_enabled() and hidden.requires_grad
        gradients_needed = (differentiable, differentiable and entropy_gradient)
        scores: tuple[Tensor, Tensor] = _FrozenHead.apply(  # type: ignore[no-untyped-call]
            hidden, targets, head.weight, head.bias, temperature, size, gradients_needed
        )
        return scores
    if len(targets) <= size:
        return _score(hidden, targets, head, temperature, entropy_gradient)
    logprobs, entropies = [], []
    for start in range(0, len(targets), size):
        part = slice(start, start + size)
        arguments = (hidden[part], targets[part], head, temperature, entropy_gradient)
        grad = torch.is_grad_enabled()
        part_scores = checkpoint(_score, *arguments, use_reentrant=False) if grad else _score(*arguments)
        logprobs.append(part_scores[0])
        entropies.append(part_scores[1])
    return torch.cat(logprobs), torch.cat(entropies)


def token_logits(hidden: Tensor, head: Callable[[Tensor], Tensor], token: int) -> Tensor:
    """Logits (M,) of one token, before the temperature, with gradient if enabled; at least float32."""
    if type(head) is torch.nn.Linear:
        bias = None if head.bias is None else head.bias[token : token + 1]
        logits = F.linear(hidden, head.weight[token : token + 1], bias)[:, 0]
    else:
        logits = head(hidden)[:, token]
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class _FrozenHead(torch.autograd.Function):
    """Log-probabilities and entropies of a frozen head W with their gradients: with p the distribution over
    the vocabulary and τ the temperature, ∂ log p_t / ∂ hidden = (W_t − Σ p W) / τ and ∂ entropy / ∂ hidden =
    −Σ p (log p + entropy) W / τ.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        targets: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        temperature: float,
        size: int,
        gradients_needed: tuple[bool, bool],
    ) -> tuple[Tensor, Tensor]:
        precision = torch.promote_types(hidden.dtype, torch.float32)
        logprobs, entropies = hidden.new_empty((2, len(targets)), dtype=precision)
        descents = [hidden.new_empty(hidden.shape) if needed else None for needed in gradients_needed]
        for start in range(0, len(targets), size):
            part = slice(start, start + size)
            logits = _logits(hidden[part], weight, bias)
            if temperature != 1.0:
                logits.div_(temperature)
            fused = (
                None
                if gradients_needed[1]
                else fused_slice(logits, targets[part], hidden.dtype, gradients_needed[0])
            )
            logprobs[part], entropies[part], slopes = fused or _slice(logits, targets[part], gradients_needed)
            for descent, slope in zip(descents, slopes, strict=True):
                if descent is not None and slope is not None:
                    torch.mm(slope.to(weight.dtype), weight, out=descent[part])
        ctx.save_for_backward(*descents)
        ctx.temperature = temperature
        ctx.set_materialize_grads(False)
        if not gradients_needed[1]:
            ctx.mark_non_differentiable(entropies)
        return logprobs, entropies

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        into_hidden = None
        for gradient, descent in zip(gradients, ctx.saved_tensors, strict=True):
            if gradient is not None and descent is not None:
                part = (gradient / -ctx.temperature)[:, None] * descent
                into_hidden = part if into_hidden is None else into_hidden + part
                into_hidden = into_hidden.to(descent.dtype)
        return into_hidden, None, None, None, None, None, None


def _logits(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if not has_float32_output(hidden.device, hidden.dtype):
        plain = F.linear(hidden, weight, bias)
        return plain.to(torch.promote_types(plain.dtype, torch.float32))
    logits = float32_product(hidden, weight.T)
    return logits if bias is None else logits.add_(bias)


def _slice(
    logits: Tensor, targets: Tensor, gradients_needed: tuple[bool, bool]
) -> tuple[Tensor, Tensor, tuple[Tensor | None, Tensor | None]]:
    distribution = torch.log_softmax(logits, dim=-1)
    del logits
    logprobs = distribution.gather(-1, targets[:, None])[:, 0]
    probabilities = distribution.exp()
    # A token of probability 0 adds 0, not 0 · -inf.
    information = distribution.clamp_(min=torch.finfo(distribution.dtype).min).mul_(probabilities)
    entropies = -information.sum(-1)
    of_entropy = information.addcmul_(probabilities, entropies[:, None]) if gradients_needed[1] else None
    if not gradients_needed[0]:
        return logprobs, entropies, (None, of_entropy)
    one = torch.ones((), dtype=probabilities.dtype, device=probabilities.device)
    of_logprob = probabilities.scatter_add_(-1, targets[:, None], -one.expand(len(targets), 1))
    return logprobs, entropies, (of_logprob, of_entropy)


def _score(
    hidden: Tensor,
    targets: Tensor,
    head: Callable[[Tensor], Tensor],
    temperature: float,
    entropy_gradient: bool,
) -> tuple[Tensor, Tensor]:
    logits = head(hidden)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    distribution = torch.log_softmax(logits, dim=-1)
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        # A token of probability 0 adds 0, not 0 · -inf.
        entropies = -(distribution.exp() * distribution.clamp(min=torch.finfo(torch.float32).min)).sum(-1)
    return distribution.gather(-1, targets[:, None])[:, 0], entropies
