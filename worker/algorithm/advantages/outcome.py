"""Advantages (N,) from one reward per completion, compared within its group.

Rows outside `keep`, and groups with equal rewards, get exactly 0.
"""

from typing import Literal

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import (
    StdKind,
    group_members,
    group_statistics,
    group_sum,
    standardised,
)
from worker.algorithm.rows import Rows

PairWeight = Literal["lambda", "confidence", "uniform"]


def grpo(rows: Rows, rewards: Tensor, keep: Tensor, *, std: StdKind = "sample", eps: float = 1e-4) -> Tensor:
    """(R_i - group mean) / (group std + eps). DeepSeekMath (2402.03300) section 4.1.2; eps as in TRL.

    With eps = 0 and the population deviation: GFPO (2508.09726, eq. 2).
    """
    return standardised(rewards, rows.group, keep, std=std, eps=eps)


def dr_grpo(rows: Rows, rewards: Tensor, keep: Tensor) -> Tensor:
    """R_i - group mean. Understanding R1-Zero-like training (2503.20783), section 3; TRL
    `scale_rewards="none"`.
    """
    stats = group_statistics(rewards, rows.group, keep)
    return torch.where(keep & ~stats.uniform, rewards - stats.mean, 0.0)


def grpo_batch_std(rows: Rows, rewards: Tensor, keep: Tensor, *, eps: float = 1e-4) -> Tensor:
    """(R_i - group mean) / (sample std of the batch's rewards + eps). TRL
    `scale_rewards="batch"`; Lite PPO.
    """
    batch = group_statistics(rewards, torch.zeros_like(rows.group), keep)
    return dr_grpo(rows, rewards, keep) / (batch.std + eps)


def rloo(rows: Rows, rewards: Tensor, keep: Tensor) -> Tensor:
    """R_i - mean of the group's other rewards; 0 in groups of one. RLOO (2402.14740); verl
    `compute_rloo_outcome_advantage`.
    """
    count = group_statistics(rewards, rows.group, keep).count
    return dr_grpo(rows, rewards, keep) * count / (count - 1).clamp(min=1)


def length_corrected(
    rows: Rows, rewards: Tensor, keep: Tensor, *, std: StdKind = "sample", eps: float = 1e-8
) -> Tensor:
    """R_i / L_i standardised in its group, L_i in tokens. TIC-GRPO (2508.02833); our reading, confidence
    medium.
    """
    return standardised(rewards / rows.lengths.clamp(min=1), rows.group, keep, std=std, eps=eps)


def opo(rows: Rows, rewards: Tensor, keep: Tensor) -> Tensor:
    """R_i - Σ_j L_j·R_j / Σ_j L_j over the group, L in tokens. OPO; verl `compute_opo_outcome_advantage`."""
    lengths = torch.where(keep, rows.lengths, 0).to(torch.float64)
    weighted = torch.where(keep, rewards * lengths, 0.0)
    baseline = group_sum(weighted, rows.group) / group_sum(lengths, rows.group).clamp(min=1)
    uniform = group_statistics(rewards, rows.group, keep).uniform
    return torch.where(keep & ~uniform, rewards - baseline, 0.0)


def passk_max(
    rows: Rows, rewards: Tensor, keep: Tensor, *, normalise: bool = True, eps: float = 1e-6
) -> Tensor:
    """A group's best row gets (best - second reward) / (sample std + eps), the others 0; a tie gives all 0.

    Pass@k training (2503.19595); verl `compute_grpo_passk_outcome_advantage`.
    """
    stats = group_statistics(rewards, rows.group, keep)
    scale = stats.std + eps if normalise else torch.ones_like(stats.std)
    advantages = torch.zeros(len(rewards), dtype=torch.float64)
    for members in group_members(rows.group, keep & ~stats.uniform):
        (best, second), order = rewards[members].topk(2)
        row = members[order[0]]
        advantages[row] = (best - second) / scale[row]
    return advantages


def lampo(
    rows: Rows, rewards: Tensor, keep: Tensor, *, weight: PairWeight = "lambda", tau: float = 1.0
) -> Tensor:
    """1 / (G - 1) · Σ_{j≠i} w_ij · (R_i - R_j), with w_ij from q, a row's mean token log-probability at
    sampling.

    `lambda`: sigmoid(-sign(R_i - R_j)·(q_i - q_j) / tau); `confidence`: sigmoid(|q_i - q_j| / tau);
    `uniform`: 1, exactly RLOO. LamPO (2605.21235): the sum is the paper's, the weight our reading (confidence
    low).
    """
    uniform = group_statistics(rewards, rows.group, keep).uniform
    advantages = torch.zeros(len(rewards), dtype=torch.float64)
    likely = rows.row_mean(rows.needed("old_logprobs")) if weight != "uniform" else advantages
    for members in group_members(rows.group, keep & ~uniform):
        gap = rewards[members][:, None] - rewards[members][None, :]
        ahead = (likely[members][:, None] - likely[members][None, :]) / tau
        pairs = gap * _pair_weight(weight, gap, ahead)
        advantages[members] = pairs.sum(1) / (len(members) - 1)
    return advantages


def _pair_weight(weight: PairWeight, gap: Tensor, ahead: Tensor) -> Tensor:
    if weight == "uniform":
        return torch.ones_like(gap)
    return torch.sigmoid(-gap.sign() * ahead if weight == "lambda" else ahead.abs())


def identity(rows: Rows, rewards: Tensor, keep: Tensor) -> Tensor:
    """The rewards unchanged, for shaping that already compares them (`mo_grpo`, `gdpo`)."""
    return torch.where(keep, rewards, 0.0)
