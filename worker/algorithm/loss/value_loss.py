"""The critic's loss and quality metrics."""

import torch
from torch import Tensor

from worker.algorithm.loss.losses import LossParts, SumCount


def value_loss(
    values: Tensor,
    returns: Tensor,
    old_values: Tensor,
    mask: Tensor,
    *,
    clip_range: float | None = None,
) -> LossParts:
    """½·Σ max((V - R)², (V_clip - R)²), V_clip = V_old + clip(V - V_old, ± clip_range); without a range ½·Σ (V - R)².

    All tensors (N, T); old_values: under the weights before the step. Schulman et al. 2017 (1707.06347) eq. 9; the
    clip is from PPO2; verl `compute_value_loss`. Not divided by the batch's tokens.
    """
    values = torch.where(mask, values, 0.0)
    returns = torch.where(mask, returns.detach().to(values.dtype), 0.0)
    squares = (values - returns) ** 2
    clipped = torch.zeros_like(mask)
    if clip_range is not None:
        old = torch.where(mask, old_values.detach().to(values.dtype), 0.0)
        bounded = (old + (values - old).clamp(-clip_range, clip_range) - returns) ** 2
        clipped = bounded > squares
        squares = torch.max(squares, bounded)
    total = 0.5 * squares.sum()
    tokens = float(mask.sum())
    metrics = {
        "critic/loss": (float(total.detach()), tokens),
        "critic/clip_share": (float(clipped.sum()), tokens),
    }
    return LossParts(total, metrics)


def value_metrics(values: Tensor, returns: Tensor, mask: Tensor) -> dict[str, SumCount]:
    """Metrics of values V against returns R, (N, T), over the tokens of `mask` (N, T) bool.

    Explained variance is 1 - var(R - V) / var(R); its count is 0 if all returns are equal.
    """
    predicted, target = values[mask].double(), returns[mask].double()
    tokens = float(len(target))
    spread, left = (
        float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0 for x in (target, target - predicted)
    )
    return {
        "critic/explained_variance": (spread - left, spread) if spread > 1e-12 * tokens else (0.0, 0.0),
        "critic/return_mean": (float(target.sum()), tokens),
        "critic/value_mean": (float(predicted.sum()), tokens),
    }
