"""Log-probabilities and entropies of sampled tokens, from hidden states, a slice of tokens at a time.

Logits are the largest tensor of a step (tokens × vocabulary, in float32); slicing bounds it, and recomputing each
slice in the backward pass keeps only hidden states alive between the passes.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

LOGITS_PER_SLICE = 2**25
"""Elements: 128 MiB of float32 logits at a time."""


def token_scores(
    hidden: Tensor,
    targets: Tensor,
    head: Callable[[Tensor], Tensor],
    *,
    vocabulary: int,
    temperature: float,
    entropy_gradient: bool = False,
) -> tuple[Tensor, Tensor]:
    """Log-probabilities (M,) with gradient and entropies (M,), with it where asked for, of hidden (M, H) and targets
    (M,) int64."""
    size = max(1, LOGITS_PER_SLICE // vocabulary)
    if len(targets) <= size:
        return _score(hidden, targets, head, temperature, entropy_gradient)
    logprobs, entropies = [], []
    for start in range(0, len(targets), size):
        part = slice(start, start + size)
        arguments = (hidden[part], targets[part], head, temperature, entropy_gradient)
        grad = torch.is_grad_enabled()
        found = checkpoint(_score, *arguments, use_reentrant=False) if grad else _score(*arguments)
        logprobs.append(found[0])
        entropies.append(found[1])
    return torch.cat(logprobs), torch.cat(entropies)


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
