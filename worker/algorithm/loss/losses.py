"""The policy loss, the only differentiable part of an algorithm.

    loss = Σ weight · (surrogate · kept · correction + β · kl) / Σ count - η · mean entropy + auxiliary terms

Losses are sums over (N, T), so those of micro-batches can be added.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from worker.algorithm.loss.hierarchy import hierarchy_correction
from worker.algorithm.loss.kl import k3, kl_penalty
from worker.algorithm.loss.mismatch import mismatch_weights, off_policy_keep
from worker.algorithm.loss.ratios import RATIOS, bounded_exp
from worker.algorithm.loss.surrogates import SURROGATES, Surrogate, Terms
from worker.algorithm.plugin_functions import check_finite, check_shape, check_type
from worker.algorithm.rows import PartSettings, lookup

SumCount = tuple[float, float]

NONE: PartSettings = {"type": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LossInputs:
    """Tensors that the loss reads besides `logprobs` (N, T); without gradient unless marked."""

    mask: Tensor
    """(N, T) bool: tokens in the loss."""
    advantages: Tensor
    token_weights: Tensor
    counts: Tensor
    old_logprobs: Tensor | None = None
    """Log-probabilities before the step, (N, T); None in the first update on the batch, where the
    ratio is 1.
    """
    reference_logprobs: Tensor | None = None
    """Log-probabilities under the reference, (N, T); needed if beta > 0."""
    sampler_logprobs: Tensor | None = None
    """Log-probabilities from the sampler, (N, T), NaN if it returned none; for `mismatch`, `drpo`
    and `dppo`.
    """
    actions: Tensor | None = None
    """(N, T) int64: action of each token, or -1."""
    policy_tokens: Tensor | None = None
    """(N, T) bool: tokens whose policy term and entropy count; None for all."""
    betas: Tensor | None = None
    row_weights: Tensor | None = None
    """Weights of the rows' KL, (N,) float32, for KL level `sequence`."""
    entropies: Tensor | None = None
    """Token entropies, (N, T) nats, **with gradient**, for an entropy bonus."""
    entropy_weights: Tensor | None = None
    """Weights of the entropies, multiplied by η, (N, T) float32."""
    weight_slopes: Mapping[str, Tensor] = field(default_factory=dict)
    """∂ token_weights / ∂ parameter, (N, T)."""
    pair_losses: Tensor | None = None
    """Weighted DPO loss of each pair, at its best row, (N,)."""
    pair_slopes: Tensor | None = None
    """(N,): derivatives of the pairs' losses with respect to each row's Σ_t logprobs."""
    execute_logits: Tensor | None = None
    """(N, T) **with gradient**: logit of the execute token."""
    execute_logprobs: Tensor | None = None
    """(N, T) **with gradient**: log-probability of the execute token."""
    executed: Tensor | None = None
    """(N, T) bool: whether the execute token was sampled."""
    hierarchy_weights: Tensor | None = None
    """Weights of IH-GRPO's term, multiplied by λ, (N, T) float32."""


@dataclass(frozen=True, slots=True)
class LossParts:
    total: Tensor
    """Sum of the losses, with gradient, not divided by Σ count."""
    metrics: dict[str, SumCount]
    gradients: dict[str, float] = field(default_factory=dict)


def policy_loss(logprobs: Tensor, inputs: LossInputs, loss: Mapping[str, Any]) -> LossParts:
    """The loss of some rows of an optimizer batch.

    Padding is replaced before any `exp`, so it gives neither value nor gradient. Raises ValueError naming a missing
    tensor, KeyError for an unknown type.
    """
    mask = inputs.mask
    logprobs = torch.where(mask, logprobs, 0.0)
    old = logprobs.detach() if inputs.old_logprobs is None else _constant(inputs.old_logprobs, mask)
    losses, metrics = _policy_term(logprobs, old, inputs, loss)
    metrics["loss/policy"] = (
        (losses.detach() * inputs.token_weights).sum().item(),
        float(inputs.counts.sum()),
    )
    policy_losses = losses.detach()
    total = losses.new_zeros(())
    if loss["kl"]["beta"] > 0 or inputs.betas is not None:
        penalty = _kl_term(logprobs, old, inputs, loss["kl"], metrics)
        if loss["kl"].get("level", "token") == "sequence":
            total = total + (penalty[:, 0] * _needed(inputs.row_weights, "row_weights", "kl.level")).sum()
        else:
            losses = losses + penalty
    total = total + (losses * inputs.token_weights).sum()
    gradients = {name: float((losses.detach() * slope).sum()) for name, slope in inputs.weight_slopes.items()}
    if inputs.entropy_weights is not None:
        entropies = torch.where(mask, _needed(inputs.entropies, "entropies", "entropy"), 0.0)
        total = total - (entropies * inputs.entropy_weights).sum()
    if inputs.pair_losses is not None and inputs.pair_slopes is not None:
        sums = logprobs.sum(1)
        total = total + inputs.pair_losses.sum() + (inputs.pair_slopes * (sums - sums.detach())).sum()
    if inputs.hierarchy_weights is not None:
        total = total + _hierarchy_term(policy_losses, inputs)
    return LossParts(total, metrics, gradients)


def _needed(tensor: Tensor | None, name: str, reader: str) -> Tensor:
    if tensor is None:
        raise ValueError(f"{reader} needs {name}, which is missing")
    return tensor


def _constant(tensor: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask, tensor.detach(), 0.0)


def _policy_term(
    logprobs: Tensor, old: Tensor, inputs: LossInputs, loss: Mapping[str, Any]
) -> tuple[Tensor, dict[str, SumCount]]:
    mask = inputs.mask
    sampler = None if inputs.sampler_logprobs is None else _constant(inputs.sampler_logprobs, mask)
    log_ratio = logprobs - old
    ratio = RATIOS[loss["ratio_level"]](log_ratio, mask, inputs.actions)
    advantages = inputs.advantages.detach().to(ratio.dtype)
    advantages = advantages if advantages.dim() == 2 else advantages[:, None]
    correction, weights = loss.get("mismatch", NONE), None
    if correction["type"] != "none":
        weights = mismatch_weights(
            correction, old, _needed(sampler, "sampler_logprobs", "loss.mismatch"), mask
        )
    terms = Terms(
        ratio=ratio,
        advantages=advantages,
        logprobs=logprobs,
        log_ratio=log_ratio,
        mask=mask,
        sampler_logprobs=None if sampler is None else torch.where(sampler.isnan(), old, sampler),
        mismatch=weights,
    )
    function, params = lookup(SURROGATES, loss["surrogate"], "surrogate")
    surrogate = function(terms, **params)
    if (kind := loss["surrogate"]["type"]) not in SURROGATES:
        check_type(surrogate, Surrogate, "surrogate", kind)
        check_shape(surrogate.losses, mask.shape, "losses", "surrogate", kind)
        read = [tensor[mask] for tensor in (ratio, log_ratio, logprobs)] + [advantages]
        check_finite(surrogate.losses[mask], "losses", "surrogate", kind, inputs=read)
    metrics = _ratio_metrics(ratio, surrogate, mask)
    losses = surrogate.losses
    off_policy = loss.get("off_policy_mask", NONE)
    if off_policy["type"] != "none":
        behaviour = old if sampler is None else sampler
        keep = off_policy_keep(off_policy["delta"], advantages, logprobs, behaviour, mask)
        losses = losses * keep
        metrics["policy/off_policy_share"] = _share(~keep, mask)
    if inputs.policy_tokens is not None:
        losses = losses * inputs.policy_tokens
    if weights is not None:
        metrics["sampler/weight_mean"] = _share(weights, mask)
        losses = losses if surrogate.corrected else losses * weights
    return losses, metrics


def _share(values: Tensor, mask: Tensor) -> SumCount:
    return float((values.detach() * mask).sum()), float(mask.sum())


def _ratio_metrics(ratio: Tensor, surrogate: Surrogate, mask: Tensor) -> dict[str, SumCount]:
    return {
        "policy/ratio_mean": _share(ratio, mask),
        "policy/clip_low_share": _share(surrogate.clipped_low, mask),
        "policy/clip_high_share": _share(surrogate.clipped_high, mask),
    }


def _kl_term(
    logprobs: Tensor, old: Tensor, inputs: LossInputs, kl: Mapping[str, Any], metrics: dict[str, SumCount]
) -> Tensor:
    """β · kl, (N, T) or (N, 1), with gradient; adds the k3 estimate to `metrics`."""
    mask = inputs.mask
    reference = _constant(_needed(inputs.reference_logprobs, "reference_logprobs", "beta > 0"), mask)
    token_ratio = bounded_exp(logprobs - old)
    metrics["kl/mean"] = _share(k3((logprobs - reference).detach(), token_ratio), mask)
    beta = kl["beta"] if inputs.betas is None else inputs.betas.to(logprobs.dtype)[:, None]
    return beta * kl_penalty(kl, logprobs, reference, mask, token_ratio)


def _hierarchy_term(policy_losses: Tensor, inputs: LossInputs) -> Tensor:
    mask, reader = inputs.mask, "aux 'hierarchy'"
    logits = torch.where(mask, _needed(inputs.execute_logits, "execute_logits", reader), 0.0)
    logprobs = torch.where(mask, _needed(inputs.execute_logprobs, "execute_logprobs", reader), -1.0)
    correction = hierarchy_correction(logits, logprobs, _needed(inputs.executed, "executed", reader))
    weights = _needed(inputs.hierarchy_weights, "hierarchy_weights", reader)
    return (correction * policy_losses * weights).sum()
