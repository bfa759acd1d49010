"""From per-token losses to one number: token weights and counts whose sums can be taken in any order.

A loss is Σ weight·x / Σ count. Both sums run over the whole optimizer batch, so micro-batches and ranks only add
up parts; a row without valid tokens contributes to neither.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from worker.algorithm.rows import Slot, lookup


@dataclass(frozen=True, slots=True)
class TokenWeights:
    weights: Tensor
    """(N, T) float32, 0 outside the mask."""
    counts: Tensor
    """(N,) float32: what each row adds to the denominator."""


def seq_mean(mask: Tensor) -> TokenWeights:
    """Mean over the tokens of a completion, then over completions (GRPO)."""
    lengths = mask.sum(1, dtype=torch.float32)
    return TokenWeights(mask / lengths.clamp(min=1)[:, None], (lengths > 0).float())


def constant(mask: Tensor, *, length: int) -> TokenWeights:
    """Sum over tokens ÷ (completions × a constant length) (Dr. GRPO)."""
    return TokenWeights(mask.float(), mask.any(1).float() * length)


AGGREGATIONS: dict[str, Callable[..., TokenWeights]] = {"seq_mean": seq_mean, "constant": constant}


def token_weights(slot: Slot, mask: Tensor) -> TokenWeights:
    """Weights for the rows of one optimizer batch; `mask` (N, T) bool holds the tokens that are trained on."""
    function, params = lookup(AGGREGATIONS, slot, "aggregation")
    return function(mask, **params)
