"""Credit for an agent's turns by the states in which it acted (`rows.turns`)."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import group_statistics, standardised
from worker.algorithm.advantages.outcome import grpo
from worker.algorithm.rows import Rows, Turns

StateScope = Literal["group", "batch"]


@dataclass(frozen=True, slots=True)
class TurnCredit:
    """Values and advantages of the S turns, (S,), in the order of `Turns`."""

    values: Tensor
    """V(s), float64: mean discounted return over the state's kept visits."""
    visits: Tensor
    advantages: Tensor


def turn_credit(
    rows: Rows,
    turns: Turns,
    keep: Tensor,
    *,
    gamma: float = 0.95,
    lam: float = 0.9,
    state_scope: StateScope = "group",
) -> TurnCredit:
    """delta_k = r_k + gamma·V(s_{k+1}) - V(s_k); A_k = delta_k + gamma·lam·A_{k+1}; V(s) is the mean return
    from state s, 0 after the last turn.
    """
    valid = keep[turns.row]
    returns = _backwards(turns.rewards, turns.row, gamma)
    scope = rows.group[turns.row] if state_scope == "group" else torch.zeros_like(turns.row)
    _, state = torch.unique(torch.stack([scope, turns.states]), dim=1, return_inverse=True)
    stats = group_statistics(returns, state, valid)
    follows = turns.row[1:] == turns.row[:-1]
    after = torch.zeros_like(stats.mean)
    after[:-1] = torch.where(follows, stats.mean[1:], 0.0)
    delta = turns.rewards + gamma * after - stats.mean
    return TurnCredit(stats.mean, stats.count, _backwards(delta, turns.row, gamma * lam))


def gagpo(
    rows: Rows,
    rewards: Tensor,
    keep: Tensor,
    *,
    gamma: float = 0.95,
    lam: float = 0.9,
    state_scope: StateScope = "group",
    eps: float = 1e-4,
) -> Tensor:
    """Advantages (N, T): a turn's tokens get its advantage, standardised over the turns of its group.

    GAGPO (2605.13217); how surely this is the paper's method: medium. The defaults of gamma and lam are ours.
    A group without a repeated state gets GRPO's advantages. Raises ValueError without `rows.turns`.
    """
    turns: Turns = rows.needed("turns")
    valid, group = keep[turns.row], rows.group[turns.row]
    credit = turn_credit(rows, turns, keep, gamma=gamma, lam=lam, state_scope=state_scope)
    values = standardised(credit.advantages, group, valid, std="sample", eps=eps)
    with_repeats = torch.isin(rows.group, group[valid & (credit.visits > 1)])
    advantages = grpo(rows, rewards, keep, eps=eps)[:, None].repeat(1, rows.mask.shape[1])
    advantages[with_repeats] = 0.0
    for row, start, end, value in zip(
        turns.row.tolist(), turns.start.tolist(), turns.end.tolist(), values.tolist(), strict=True
    ):
        if with_repeats[row]:
            advantages[row, start:end] = value
    return torch.where(rows.mask & keep[:, None], advantages, 0.0)


def state_visits(
    rows: Rows, rewards: Tensor, keep: Tensor, *, state_scope: StateScope = "group"
) -> tuple[int, int]:
    """Number of turns and number of different states in kept rows; GAGPO needs at least 1.5
    turns per state.
    """
    turns: Turns = rows.needed("turns")
    valid = keep[turns.row]
    scope = rows.group[turns.row] if state_scope == "group" else torch.zeros_like(turns.row)
    states = torch.unique(torch.stack([scope, turns.states])[:, valid], dim=1)
    return int(valid.sum()), states.shape[1]


def _backwards(values: Tensor, row: Tensor, decay: float) -> Tensor:
    sums, running, below = [], 0.0, None
    for value, number in zip(reversed(values.tolist()), reversed(row.tolist()), strict=True):
        running = value + (decay * running if number == below else 0.0)
        below = number
        sums.append(running)
    return torch.tensor(sums[::-1], dtype=torch.float64)
