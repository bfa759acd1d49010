"""Ratios (N, T) of new and old policy: per token, completion or action."""

from collections.abc import Callable

import torch
from torch import Tensor

MAX_LOG_RATIO = 20.0
"""Bound of log-ratios before `exp`, as in verl."""


def bounded_exp(log_ratio: Tensor) -> Tensor:
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()


def row_mean(values: Tensor, mask: Tensor) -> Tensor:
    """(N, 1) mean over each row's tokens; 0 without tokens."""
    return values.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)


def token(log_ratio: Tensor, mask: Tensor, actions: Tensor | None) -> Tensor:
    """Token ratio w_{i,t} = exp(logp - old) (PPO; GRPO, DeepSeekMath eq. 3)."""
    return bounded_exp(log_ratio)


def sequence(log_ratio: Tensor, mask: Tensor, actions: Tensor | None) -> Tensor:
    """s_i = exp(mean_t(logp - old)), the geometric mean of the row's token ratios (GSPO, eq. 7)."""
    return bounded_exp(row_mean(log_ratio, mask)).expand_as(log_ratio)


def gspo_token(log_ratio: Tensor, mask: Tensor, actions: Tensor | None) -> Tensor:
    """The row's ratio s_i with each token's gradient: s_i · exp(logp - stop_gradient(logp)) (GSPO, section
    4.3).
    """
    return sequence(log_ratio, mask, actions).detach() * (log_ratio - log_ratio.detach()).exp()


def arithmetic(log_ratio: Tensor, mask: Tensor, actions: Tensor | None) -> Tensor:
    """Arithmetic mean of the row's token ratios (GRPO-S, arXiv 2508.04349)."""
    ratio = torch.where(mask, bounded_exp(log_ratio), 0.0)
    return row_mean(ratio, mask).expand_as(log_ratio)


def trajectory(log_ratio: Tensor, mask: Tensor, actions: Tensor | None) -> Tensor:
    """Product of the row's token ratios (TIC-GRPO, arXiv 2508.02833; TRL's RLOOTrainer)."""
    return bounded_exp(log_ratio.sum(1, keepdim=True)).expand_as(log_ratio)


def action(log_ratio: Tensor, mask: Tensor, actions: Tensor | None) -> Tensor:
    """Geometric mean of the token ratios of each action (GAGPO, arXiv 2605.13217).

    actions: (N, T) int64. Raises ValueError without actions, or if a trained token has none.
    """
    if actions is None:
        raise ValueError("ratio_level 'action' needs the action of every token")
    if bool((mask & (actions < 0)).any()):
        raise ValueError("ratio_level 'action': a trained token belongs to no action")
    index = torch.where(mask, actions, 0)
    sums = log_ratio.new_zeros(len(index), int(index.max()) + 1 if index.numel() else 1)
    totals = sums.scatter_add(1, index, torch.where(mask, log_ratio, 0.0))
    counts = sums.scatter_add(1, index, mask.to(log_ratio.dtype))
    return bounded_exp(totals / counts.clamp(min=1)).gather(1, index)


RATIOS: dict[str, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {
    "token": token,
    "sequence": sequence,
    "gspo_token": gspo_token,
    "arithmetic": arithmetic,
    "trajectory": trajectory,
    "action": action,
}
"""Function of each level: (log_ratio, mask, actions), each (N, T) → ratio (N, T) with gradient."""
