"""Slot 4: the policy loss, the only differentiable part.

    loss = Σ weight · (surrogate + β · kl) / Σ count

`weight` and `count` come from `aggregation`; every function here is elementwise over (N, T) or reduces to sums.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from worker.algorithm.kl import KL_ESTIMATORS, MAX_LOG_RATIO
from worker.algorithm.rows import lookup

SumCount = tuple[float, float]
"""A mean on its way: sums are added over micro-batches (and ranks) before the one division."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossInputs:
    """Constants of the loss, aligned with `logprobs` (N, T)."""

    mask: Tensor
    """(N, T) bool: tokens that are trained on."""
    advantages: Tensor
    """(N,) or (N, T)."""
    token_weights: Tensor
    """(N, T) float32."""
    counts: Tensor
    """(N,) float32."""
    old_logprobs: Tensor | None = None
    """(N, T); None when this is the first update on the batch: the policy then *is* the old policy, and the ratio is
    exactly 1 with the right gradient."""
    reference_logprobs: Tensor | None = None
    """(N, T); needed when beta > 0."""


@dataclass(frozen=True, slots=True)
class LossParts:
    total: Tensor
    """Scalar with gradient: Σ weight · x, still to be divided by the batch's Σ count."""
    metrics: dict[str, SumCount]


def token_ratio(log_ratio: Tensor, mask: Tensor) -> Tensor:
    """w_{i,t} = policy / old policy, per token."""
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()


RATIOS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"token": token_ratio}


@dataclass(frozen=True, slots=True)
class Surrogate:
    losses: Tensor
    """(N, T) with gradient."""
    clipped_low: Tensor
    """(N, T) bool: held back by the lower bound, so without gradient."""
    clipped_high: Tensor


def ppo_clip(ratio: Tensor, advantages: Tensor, *, eps_low: float = 0.2, eps_high: float = 0.2) -> Surrogate:
    """-min(w·A, clip(w, 1 - eps_low, 1 + eps_high)·A)."""
    clipped = ratio.clamp(1 - eps_low, 1 + eps_high)
    return Surrogate(
        -torch.min(ratio * advantages, clipped * advantages),
        clipped_low=(ratio < 1 - eps_low) & (advantages < 0),
        clipped_high=(ratio > 1 + eps_high) & (advantages > 0),
    )


SURROGATES: dict[str, Callable[..., Surrogate]] = {"ppo_clip": ppo_clip}


def policy_loss(logprobs: Tensor, inputs: LossInputs, loss: Mapping[str, Any]) -> LossParts:
    """The loss of some rows of an optimizer batch; `loss` is the specification's loss slot as a mapping.

    Padded positions are replaced before any `exp`, so whatever stands there gives neither value nor gradient.
    """
    mask = inputs.mask
    logprobs = torch.where(mask, logprobs, 0.0)
    old = logprobs.detach() if inputs.old_logprobs is None else torch.where(mask, inputs.old_logprobs, 0.0)
    ratio = RATIOS[loss["ratio_level"]](logprobs - old, mask)
    advantages = inputs.advantages if inputs.advantages.dim() == 2 else inputs.advantages[:, None]
    function, params = lookup(SURROGATES, loss["surrogate"], "surrogate")
    surrogate = function(ratio, advantages.to(ratio.dtype), **params)
    policy_term = (surrogate.losses * inputs.token_weights).sum()
    tokens = float(mask.sum())
    metrics = {
        "loss/policy": (policy_term.item(), float(inputs.counts.sum())),
        "policy/ratio_mean": (float((ratio.detach() * mask).sum()), tokens),
        "policy/clip_low_share": (float((surrogate.clipped_low & mask).sum()), tokens),
        "policy/clip_high_share": (float((surrogate.clipped_high & mask).sum()), tokens),
    }
    total = policy_term
    beta = loss["kl"]["beta"]
    if beta > 0:
        if inputs.reference_logprobs is None:
            raise ValueError("beta > 0 needs reference_logprobs")
        reference = torch.where(mask, inputs.reference_logprobs, 0.0)
        kl = KL_ESTIMATORS[loss["kl"]["estimator"]](logprobs, reference)
        total = total + beta * (kl * inputs.token_weights).sum()
        k3 = KL_ESTIMATORS["k3"](logprobs.detach(), reference)
        metrics["kl/mean"] = (float((k3 * mask).sum()), tokens)
    return LossParts(total, metrics)
