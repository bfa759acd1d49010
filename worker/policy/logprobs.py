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
    hidden: Tensor, targets: Tensor, head: Callable[[Tensor], Tensor], *, vocabulary: int, temperature: float
) -> tuple[Tensor, Tensor]:
    """Log-probabilities (M,) with gradient and entropies (M,) without, for hidden (M, H) and targets (M,) int64."""
    size = max(1, LOGITS_PER_SLICE // vocabulary)
    if len(targets) <= size:
        return _score(hidden, targets, head, temperature)
    logprobs, entropies = [], []
    for start in range(0, len(targets), size):
        part = slice(start, start + size)
        if torch.is_grad_enabled():
            scored = checkpoint(_score, hidden[part], targets[part], head, temperature, use_reentrant=False)
        else:
            scored = _score(hidden[part], targets[part], head, temperature)
        logprobs.append(scored[0])
        entropies.append(scored[1])
    return torch.cat(logprobs), torch.cat(entropies)


def _score(
    hidden: Tensor, targets: Tensor, head: Callable[[Tensor], Tensor], temperature: float
) -> tuple[Tensor, Tensor]:
    logits = head(hidden).float() / temperature
    distribution = torch.log_softmax(logits, dim=-1)
    with torch.no_grad():
        # A token of probability 0 adds 0, not 0 · -inf.
        entropies = -(distribution.exp() * distribution.clamp(min=torch.finfo(torch.float32).min)).sum(-1)
    return distribution.gather(-1, targets[:, None])[:, 0], entropies
