"""Generalised advantage estimation: credit for tokens from a critic's values."""

from dataclasses import dataclass

import torch
from torch import Tensor

from worker.algorithm.advantages.whitened import on_last_token, whiten_tokens
from worker.algorithm.rows import Rows


@dataclass(frozen=True, slots=True)
class TokenCredit:
    """Advantages and returns of tokens, (N, T) float64; 0 outside the mask and in dropped rows."""

    advantages: Tensor
    returns: Tensor
    """Advantage + value: the critic's targets."""


def token_credit(
    rows: Rows, rewards: Tensor, keep: Tensor, *, gamma: float = 1.0, lam: float = 1.0
) -> TokenCredit:
    """delta_t = r_t + gamma·V(s_{t+1}) - V(s_t); A_t = delta_t + gamma·lam·A_{t+1} (Schulman et al. 2015, eq.
    16).

    Rewards r: `rows.token_rewards` if set, else `rewards` (N,) on the last token. Values V:
    `rows.state_values`; raises ValueError without them.
    """
    values = rows.needed("state_values").to(torch.float64)
    mask = rows.mask & keep[:, None]
    token_rewards = rows.token_rewards
    if token_rewards is None:
        token_rewards = on_last_token(rewards, rows.mask)
    advantages = torch.zeros(mask.shape, dtype=torch.float64)
    after, advantage = (torch.zeros(len(mask), dtype=torch.float64) for _ in range(2))
    for column in range(mask.shape[1] - 1, -1, -1):
        valid = mask[:, column]
        delta = token_rewards[:, column] + gamma * after - values[:, column]
        advantage = torch.where(valid, delta + gamma * lam * advantage, advantage)
        after = torch.where(valid, values[:, column], after)
        advantages[:, column] = torch.where(valid, advantage, 0.0)
    return TokenCredit(advantages, torch.where(mask, advantages + values, 0.0))


def gae(
    rows: Rows,
    rewards: Tensor,
    keep: Tensor,
    *,
    gamma: float = 1.0,
    lam: float = 1.0,
    whiten: bool = True,
) -> Tensor:
    """Advantages of `token_credit`, (N, T), whitened over all kept tokens of the step (verl
    `compute_gae_advantage_return`; sample variance). Ignores groups.
    """
    advantages = token_credit(rows, rewards, keep, gamma=gamma, lam=lam).advantages
    return whiten_tokens(advantages, rows.mask & keep[:, None], "sample") if whiten else advantages


def gae_returns(rows: Rows, rewards: Tensor, keep: Tensor, *, gamma: float = 1.0, lam: float = 1.0) -> Tensor:
    return token_credit(rows, rewards, keep, gamma=gamma, lam=lam).returns
