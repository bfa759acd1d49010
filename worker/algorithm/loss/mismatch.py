"""Corrects the policy term if sampler and trainer differ: importance weights, and an off-policy mask."""

import torch
from torch import Tensor

from worker.algorithm.loss.ratios import bounded_exp
from worker.algorithm.rows import PartSettings


def mismatch_weights(settings: PartSettings, old: Tensor, sampler: Tensor, mask: Tensor) -> Tensor:
    """Weights exp(old - sampler), limited; (N, T) per token or (N, 1) per row (TRL
    `vllm_importance_sampling_mode`).

    `truncate` modes bound a weight, `mask` modes set it to 0 outside [ratio_min, ratio_max]. A NaN in
    `sampler` counts as no difference.
    """
    level, _, beyond = settings["mode"].partition("_")
    gap = torch.where(mask & ~sampler.isnan(), old.detach() - sampler, 0.0)
    ratio = bounded_exp(gap.sum(1, keepdim=True) if level == "sequence" else gap)
    low, high = settings.get("ratio_min"), settings["ratio_max"]
    if beyond == "truncate":
        return ratio.clamp(min=low, max=high)
    outside = ratio > high if low is None else (ratio > high) | (ratio < low)
    return ratio.masked_fill(outside, 0.0)


def off_policy_keep(
    delta: float, advantages: Tensor, logprobs: Tensor, sampler: Tensor, mask: Tensor
) -> Tensor:
    """Bool, (N, 1) or (N, T): False where A < 0 and mean_t(sampler - logp) > delta (DeepSeek-V3.2 eq. 9; TRL
    `get_off_policy_mask`).
    """
    gap = torch.where(mask & ~sampler.isnan(), sampler - logprobs.detach(), 0.0)
    mean = gap.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return (advantages >= 0) | (mean <= delta)
