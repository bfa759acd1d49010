"""Terms that shaping adds to the rewards: (N,) float64."""

import torch
from torch import Tensor

from worker.algorithm.rows import Rows


def soft_overlong(rows: Rows, rewards: Tensor, *, limit: int, cache: int) -> Tensor:
    """0 up to limit - cache tokens, falling linearly to -1 at `limit`, then -1. DAPO (2503.14476) eq. 13; TRL
    `get_soft_overlong_punishment`."""
    over = rows.lengths.to(torch.float64) - (limit - cache)
    return -(over / cache).clamp(0, 1)


def repetition(rows: Rows, rewards: Tensor, *, n: int) -> Tensor:
    """-(1 - different n-grams / all n-grams) of token ids; 0 for completions shorter than n. TRL's
    `get_repetition_penalty_reward` counts words or tokens.
    """
    ids, mask = rows.needed("token_ids"), rows.mask
    penalties = []
    for row in range(len(ids)):
        tokens = ids[row][mask[row]].tolist()
        grams = list(zip(*(tokens[start:] for start in range(n)), strict=False))
        penalties.append(len(set(grams)) / len(grams) - 1 if grams else 0.0)
    return torch.tensor(penalties, dtype=torch.float64)


def cosine_length(
    rows: Rows,
    rewards: Tensor,
    *,
    limit: int,
    correct_above: float = 0.5,
    correct: tuple[float, float] = (0.5, 1.0),
    wrong: tuple[float, float] = (-0.5, -1.0),
    longer_is_better: bool = False,
) -> Tensor:
    """lo + (hi - lo)·(1 + cos(π·min(L, limit) / limit)) / 2, with (lo, hi) the values at `limit` tokens and at 0.

    (lo, hi) is `correct` for rows whose reward is above `correct_above`, else `wrong`. `longer_is_better`
    swaps lo and hi of correct rows. open-r1 `cosine_scaled`.
    """
    share = rows.lengths.clamp(max=limit).to(torch.float64) / limit
    falling = (1 + torch.cos(torch.pi * share)) / 2
    at_limit, at_zero = reversed(correct) if longer_is_better else correct
    right = at_limit + (at_zero - at_limit) * falling
    bad = wrong[0] + (wrong[1] - wrong[0]) * falling
    return torch.where(rewards.isnan(), torch.nan, torch.where(rewards > correct_above, right, bad))
