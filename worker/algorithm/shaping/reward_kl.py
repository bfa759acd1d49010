"""KL penalty in the reward, from k1 = log old policy - log reference."""

import torch
from torch import Tensor

from worker.algorithm.loss.kl import k3
from worker.algorithm.rows import Rows


def token_kl(rows: Rows) -> Tensor:
    """(N, T) float64: k1 of each token, nats; 0 outside the mask."""
    gap = rows.needed("old_logprobs").double() - rows.needed("reference_logprobs").double()
    return torch.where(rows.mask, gap, 0.0)


def mean_kl(rows: Rows) -> float | None:
    """Mean KL in nats per token, by k3 like the metric `kl/mean`; None without tokens."""
    gap = token_kl(rows)
    estimates = k3(gap, torch.ones_like(gap))[rows.mask]
    return float(estimates.mean()) if len(estimates) else None


def on_tokens(rows: Rows, rewards: Tensor, beta: float) -> Tensor:
    """(N, T): the reward on the last token, minus β·k1 on each token. verl `compute_rewards`."""
    columns = torch.arange(rows.mask.shape[1])
    last = torch.where(rows.mask, columns, -1).max(1, keepdim=True).values
    return torch.where(columns == last, rewards[:, None], 0.0) - beta * token_kl(rows)


def on_sequence(rows: Rows, rewards: Tensor, beta: float) -> Tensor:
    """(N,): reward minus β·Σ_t k1. RLOO (2402.14740); TRL's `RLOOTrainer`."""
    return rewards - beta * token_kl(rows).sum(1)
