"""Surrogate objectives: losses per token from ratio and advantage A, with gradient -A at ratio 1."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from worker.algorithm.loss.ratios import MAX_LOG_RATIO, bounded_exp, row_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Inputs of an objective: (N, T), 0 outside the mask."""

    ratio: Tensor
    advantages: Tensor
    logprobs: Tensor
    log_ratio: Tensor
    mask: Tensor
    sampler_logprobs: Tensor | None = None
    """Log-probabilities from the sampler, or from the old policy where the sampler returned none."""
    mismatch: Tensor | None = None
    """(N, T) or (N, 1), constant: weights that `policy_loss` applies unless `Surrogate.corrected`."""

    def behaviour(self) -> tuple[Tensor, Tensor]:
        """Ratio r = π / μ of policy to sampler, with gradient, and log μ, (N, T). Raises ValueError without
        sampler log-probabilities.
        """
        if self.sampler_logprobs is None:
            raise ValueError("this surrogate compares with the sampler: it needs sampler_logprobs")
        return bounded_exp(self.logprobs - self.sampler_logprobs), self.sampler_logprobs


@dataclass(frozen=True, slots=True)
class Surrogate:
    losses: Tensor
    clipped_low: Tensor
    """(N, T) bool: tokens clipped at a lower bound."""
    clipped_high: Tensor
    corrected: bool = False


def _unclipped(losses: Tensor, *, corrected: bool = False) -> Surrogate:
    nothing = torch.zeros_like(losses, dtype=torch.bool)
    return Surrogate(losses, nothing, nothing, corrected)


def ppo_clip(
    terms: Terms,
    *,
    eps_low: float = 0.2,
    eps_high: float = 0.2,
    delta: float | None = None,
    dual_clip: float | None = None,
) -> Surrogate:
    """-min(ratio·A, clip(ratio, 1 - eps_low, 1 + eps_high)·A) (PPO eq. 7; eps_high > eps_low is DAPO's
    clip-higher).

    delta: bound of the unclipped ratio (INTELLECT-2; TRL `delta`). dual_clip: bound of a negative advantage's
    loss at -dual_clip·A (Ye et al. 2020; verl `clip_ratio_c`).
    """
    ratio, advantages = terms.ratio, terms.advantages
    clipped = ratio.clamp(1 - eps_low, 1 + eps_high)
    free = ratio if delta is None else ratio.clamp(max=delta)
    losses = -torch.min(free * advantages, clipped * advantages)
    high = (ratio > 1 + eps_high) & (advantages > 0)
    if dual_clip is not None:
        losses = torch.where(advantages < 0, torch.min(losses, -dual_clip * advantages), losses)
    for bound in (delta, dual_clip):
        if bound is not None:
            high = high | ((ratio > bound) & (advantages < 0))
    return Surrogate(losses, clipped_low=(ratio < 1 - eps_low) & (advantages < 0), clipped_high=high)


def upper_only(terms: Terms, *, ratio_cap: float = 1.28) -> Surrogate:
    """-min(ratio·A, min(ratio, ratio_cap)·A): no lower bound (TIC-GRPO, arXiv 2508.02833)."""
    ratio, advantages = terms.ratio, terms.advantages
    losses = -torch.min(ratio * advantages, ratio.clamp(max=ratio_cap) * advantages)
    low = torch.zeros_like(losses, dtype=torch.bool)
    return Surrogate(losses, low, (ratio > ratio_cap) & (advantages > 0))


def cispo(terms: Terms, *, ratio_cap: float = 5.0) -> Surrogate:
    """-stop_gradient(min(ratio, ratio_cap))·A·logp (MiniMax-M1 with ScaleRL's cap; TRL
    `loss_type="cispo"`).
    """
    ratio = terms.ratio.detach()
    losses = -ratio.clamp(max=ratio_cap) * terms.advantages * terms.logprobs
    return Surrogate(losses, torch.zeros_like(losses, dtype=torch.bool), ratio > ratio_cap)


def cispo_two_sided(terms: Terms, *, eps_low: float = 0.2, eps_high: float = 0.28) -> Surrogate:
    """-stop_gradient(clip(ratio, 1 - eps_low, 1 + eps_high))·A·logp (MiniMax-M1; verl
    `compute_policy_loss_cispo`).
    """
    ratio = terms.ratio.detach()
    losses = -ratio.clamp(1 - eps_low, 1 + eps_high) * terms.advantages * terms.logprobs
    return Surrogate(losses, ratio < 1 - eps_low, ratio > 1 + eps_high)


def sapo(terms: Terms, *, tau_pos: float = 1.0, tau_neg: float = 1.05) -> Surrogate:
    """-A·sigmoid(τ·(ratio - 1))·4/τ, τ by the sign of A: a soft gate instead of a clip (SAPO, arXiv
    2511.20347).
    """
    positive = terms.advantages > 0
    tau = torch.where(positive, tau_pos, tau_neg).to(terms.ratio.dtype)
    return _unclipped(-terms.advantages * torch.sigmoid(tau * (terms.ratio - 1)) * 4 / tau)


def drpo(terms: Terms, *, delta: float = 12.5, mu_weighted: bool = True) -> Surrogate:
    """-A·r + |A|·μ·(r - 1)²/(2·delta), r = π/μ with μ the sampler (DRPO, arXiv 2606.09821, eq. 8).

    d loss / d logp = -A·r·(1 - sign(A·(r - 1))·|π - μ|/delta). Without `mu_weighted`: SPO.
    """
    ratio, sampler = terms.behaviour()
    pull = terms.advantages.abs() * (ratio - 1) ** 2 / (2 * delta)
    return _unclipped(-terms.advantages * ratio + (pull * sampler.exp() if mu_weighted else pull))


def _binary_tv(policy: Tensor, sampler: Tensor) -> Tensor:
    return (policy.exp() - sampler.exp()).abs()


def _binary_kl(policy: Tensor, sampler: Tensor) -> Tensor:
    tiny = torch.finfo(policy.dtype).eps
    p, q = sampler.exp().clamp(tiny, 1 - tiny), policy.exp().clamp(tiny, 1 - tiny)
    return p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()


DIVERGENCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "binary_tv": _binary_tv,
    "binary_kl": _binary_kl,
}
"""Divergences of policy and sampler, from two log-probabilities (N, T), over two outcomes: the sampled token
or another.
"""


def dppo(
    terms: Terms, *, delta: float = 0.15, divergence: str = "binary_tv", ratio_cap: float = 20.0
) -> Surrogate:
    """-A·stop_gradient(min(r, ratio_cap))·keep·logp, r = π/μ (DPPO, arXiv 2602.04879; TRL 1.0.0 experimental dppo).

    keep: 0 where the divergence exceeds `delta` and the update would widen it.
    """
    ratio, sampler = (tensor.detach() for tensor in terms.behaviour())
    far = DIVERGENCES[divergence](terms.logprobs.detach(), sampler) > delta
    high = far & (ratio > 1) & (terms.advantages > 0)
    low = far & (ratio < 1) & (terms.advantages < 0)
    weight = torch.where(low | high, 0.0, ratio.clamp(max=ratio_cap))
    return Surrogate(-terms.advantages * weight * terms.logprobs, low, high)


def reinforce(terms: Terms, *, weighted: bool = False) -> Surrogate:
    """-A·logp (Williams 1992), times stop_gradient(ratio) if `weighted`."""
    losses = -terms.advantages * terms.logprobs
    return _unclipped(losses * terms.ratio.detach() if weighted else losses)


def gmpo(terms: Terms, *, log_clip: float = 0.4) -> Surrogate:
    """-A·geometric mean of the row's token ratios; log-ratios are clipped at ± log_clip in the direction of A
    (GMPO; verl `geo_mean`).
    """
    advantages = torch.where(terms.mask, terms.advantages, 0.0)
    sign = advantages.sign()
    clipped = sign * torch.min(sign * terms.log_ratio, sign * terms.log_ratio.clamp(-log_clip, log_clip))
    losses = -row_mean(advantages, terms.mask) * bounded_exp(row_mean(clipped, terms.mask))
    return Surrogate(
        losses.expand_as(terms.log_ratio),
        clipped_low=(terms.log_ratio < -log_clip) & (advantages < 0),
        clipped_high=(terms.log_ratio > log_clip) & (advantages > 0),
    )


_LOWEST_LOG_WEIGHT = math.log(1e-8)


def vespo(
    terms: Terms,
    *,
    k_pos: float = 2.0,
    lambda_pos: float = 3.0,
    k_neg: float = 3.0,
    lambda_neg: float = 2.0,
) -> Surrogate:
    """-φ(W)·A·logp, φ = exp(λ)·W^k·exp(-λ·W) without gradient, k and λ by the sign of A (VESPO; TRL).

    W: product of the row's token ratios and mismatch weights.
    """
    log_weight = terms.log_ratio.detach().clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).sum(1, keepdim=True)
    if terms.mismatch is not None:
        log_weight = log_weight + terms.mismatch.log().clamp(_LOWEST_LOG_WEIGHT, MAX_LOG_RATIO).sum(
            1, keepdim=True
        )
    log_weight = log_weight.clamp(_LOWEST_LOG_WEIGHT, MAX_LOG_RATIO)
    good = terms.advantages >= 0
    k = torch.where(good, k_pos, k_neg).to(log_weight.dtype)
    rate = torch.where(good, lambda_pos, lambda_neg).to(log_weight.dtype)
    phi = (rate + k * log_weight - rate * log_weight.exp()).exp()
    return _unclipped(-phi * terms.advantages * terms.logprobs, corrected=True)


SURROGATES: dict[str, Callable[..., Surrogate]] = {
    "ppo_clip": ppo_clip,
    "upper_only": upper_only,
    "cispo": cispo,
    "cispo_two_sided": cispo_two_sided,
    "sapo": sapo,
    "drpo": drpo,
    "dppo": dppo,
    "reinforce": reinforce,
    "gmpo": gmpo,
    "vespo": vespo,
}

READS_SAMPLER: frozenset[str] = frozenset({"drpo", "dppo"})
