"""REINFORCE++ (2501.03262): advantages (N, T) whitened over the batch."""

from typing import Literal

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import StdKind, group_statistics
from worker.algorithm.advantages.outcome import dr_grpo
from worker.algorithm.rows import UNIFORM_STD, Rows

WHITENING_EPS = 1e-8
"""Added to the variance, as in verl."""


def reinforce_pp(
    rows: Rows, rewards: Tensor, keep: Tensor, *, gamma: float = 1.0, std: StdKind = "sample"
) -> Tensor:
    """Return-to-go of the token rewards, whitened over all tokens of the batch. Ignores groups.

    Token rewards: `rows.token_rewards` if set, else `rewards` on the last token. verl
    `compute_reinforce_plus_plus_outcome_advantage` (sample variance), OpenRLHF `reinforce` (population).
    """
    token_rewards = rows.token_rewards
    if token_rewards is None:
        token_rewards = on_last_token(rewards, rows.mask)
    mask = rows.mask & keep[:, None]
    return whiten_tokens(return_to_go(torch.where(mask, token_rewards, 0.0), mask, gamma), mask, std)


def reinforce_pp_baseline(
    rows: Rows,
    rewards: Tensor,
    keep: Tensor,
    *,
    level: Literal["token", "sequence"] = "token",
    std: StdKind = "sample",
    eps: float = 1e-4,
) -> Tensor:
    """R_i - group mean. `token` then whitens over all tokens of the batch, (N, T) (verl
    `compute_reinforce_plus_plus_baseline_outcome_advantage`); `sequence` divides by the deviation over the
    batch's rows + eps, (N,) (ms-swift).
    """
    centred = dr_grpo(rows, rewards, keep)
    if level == "sequence":
        batch = group_statistics(centred, torch.zeros_like(rows.group), keep)
        return centred / (batch.deviation(std) + eps)
    return whiten_tokens(centred[:, None].expand(rows.mask.shape), rows.mask & keep[:, None], std)


def on_last_token(rewards: Tensor, mask: Tensor) -> Tensor:
    """Token rewards, (N, T) float64: a row's reward (N,) on its last token, else 0."""
    last = mask & (mask.flip(1).cumsum(1).flip(1) == 1)
    return torch.where(last, rewards.to(torch.float64)[:, None], 0.0)


def return_to_go(token_rewards: Tensor, mask: Tensor, gamma: float) -> Tensor:
    """Returns, (N, T) float64: Σ_{u ≥ t} gamma^(u - t) · r_u over tokens of the mask."""
    running = torch.zeros(len(mask), dtype=torch.float64)
    returns = torch.zeros(mask.shape, dtype=torch.float64)
    for column in range(mask.shape[1] - 1, -1, -1):
        valid = mask[:, column]
        running = torch.where(valid, token_rewards[:, column] + gamma * running, running)
        returns[:, column] = torch.where(valid, running, 0.0)
    return returns


def whiten_tokens(values: Tensor, mask: Tensor, std: StdKind) -> Tensor:
    """(x - mean) / √(variance + 1e-8) over all tokens of the mask."""
    valid = values[mask].to(torch.float64)
    spread = len(valid) - int(std == "sample")
    if spread < 1:
        return torch.zeros(mask.shape, dtype=torch.float64)
    mean = valid.mean()
    variance = ((valid - mean) ** 2).sum() / spread
    if variance.sqrt() <= UNIFORM_STD:
        return torch.zeros(mask.shape, dtype=torch.float64)
    return torch.where(mask, (values - mean) * torch.rsqrt(variance + WHITENING_EPS), 0.0)
