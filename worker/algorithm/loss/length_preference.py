"""λ-GRPO's factors: weights of a row's tokens by its length L, with a trained exponent λ (arXiv 2510.06870).

Per group of G rows: z_i = (L_i - mean) / std (population), h_i = 1 + r·z_i, f_i = G·softmax_i(h_i^λ).
"""

import torch
from torch import Tensor

LOWEST = 1e-6
"""Lower bound of h; 1 + r·z can be below it in large groups."""


def length_factors(lengths: Tensor, group: Tensor, exponent: float, r: float) -> tuple[Tensor, Tensor]:
    """Factors f_i and ∂f_i/∂λ, (N,) float64; 0 for rows of length 0."""
    _, index = torch.unique(group, return_inverse=True)
    there = lengths > 0

    def group_sum(values: Tensor) -> Tensor:
        sums = torch.zeros(len(lengths), dtype=torch.float64, device=values.device)
        return sums.index_add(0, index, torch.where(there, values, 0.0))[index]

    length = lengths.double()
    size = group_sum(torch.ones_like(length)).clamp(min=1)
    distance = length - group_sum(length) / size
    std = (group_sum(distance**2) / size).sqrt()
    z = torch.where(std > 0, distance / std.where(std > 0, torch.ones_like(std)), 0.0)
    h = (1 + r * z).clamp(min=LOWEST)
    power = h**exponent
    lowest = torch.full_like(power, -torch.inf)
    highest = lowest.scatter_reduce(0, index, torch.where(there, power, -torch.inf), "amax")[index]
    weight = torch.where(there, (power - highest).exp(), 0.0)
    share = weight / group_sum(weight).where(there, torch.ones_like(weight))
    change = power * h.log()
    slope = share * (change - group_sum(share * change))
    return size * share, size * slope
