"""POW3R: rubric rewards with adaptive weights of the criteria."""

from collections.abc import Mapping

import torch
from torch import Tensor

from worker.algorithm.rows import UNIFORM_STD, Rows, State
from worker.algorithm.shaping.base import Combined
from worker.algorithm.shaping.combine import sum_of, weighted_sum


def category_sums(values: Tensor, category: Tensor) -> Tensor:
    """Sums of values (..., J) over each category, (..., C)."""
    out = torch.zeros((*values.shape[:-1], int(category.max()) + 1), dtype=values.dtype)
    return out.index_add(-1, category, values)


def rubric_reward(scores: Tensor, weights: Tensor, category: Tensor) -> Tensor:
    """Rewards (G,) from scores (G, J): mean over categories of each category's weighted mean.

    Violated negative criteria are subtracted from the mean of positive ones. NaN scores are left out of their
    category, empty categories out of the mean.
    """
    there = ~scores.isnan()
    size = torch.where(there, weights.abs(), 0.0)
    gained = category_sums(torch.where(there, scores, 0.0) * weights, category)
    positive, whole = category_sums(size * (weights > 0), category), category_sums(size, category)
    scale = torch.where(positive > 0, positive, whole)
    counted = (scale > 0).sum(1)
    total = (gained / torch.where(scale > 0, scale, 1.0)).sum(1)
    return torch.where(counted > 0, total / counted.clamp(min=1), torch.nan)


def updated_alpha(
    scores: Tensor,
    category: Tensor,
    alpha: Tensor,
    *,
    blend: float,
    smoothing: float,
    low: float,
    high: float,
) -> Tensor:
    """Factors α (J,) after a step towards (1 - blend) + blend·ρ, with ρ_j the criterion's
    `variance_ratio`.
    """
    ratio = variance_ratio(scores, category)
    target = (1 - blend) + blend * ratio
    return ((1 - smoothing) * alpha + smoothing * target).clamp(low, high)


def variance(scores: Tensor) -> Tensor:
    there = ~scores.isnan()
    count = there.sum(0).clamp(min=1)
    mean = torch.where(there, scores, 0.0).sum(0) / count
    spread = torch.where(there, (scores - mean) ** 2, 0.0).sum(0) / count
    return torch.where(spread > UNIFORM_STD**2, spread, 0.0)


def variance_ratio(scores: Tensor, category: Tensor) -> Tensor:
    """Variance of each criterion / mean variance of its category, (J,); 1 if that mean is 0."""
    spread = variance(scores)
    mean = category_sums(spread, category) / category_sums(torch.ones_like(spread), category).clamp(min=1)
    return torch.where(mean[category] > 0, spread / mean[category].clamp(min=1e-300), 1.0)


def pow3r(
    rows: Rows,
    state: State,
    *,
    weights: Mapping[str, float] | None = None,
    categories: Mapping[str, str] | None = None,
    blend: float = 0.5,
    smoothing: float = 0.5,
    alpha_min: float = 0.25,
    alpha_max: float = 4.0,
) -> Combined:
    """Each reward with `criteria` becomes the `rubric_reward` with weights w_j·α_j; then the weighted sum of
    rewards.

    α, per prompt and criterion, starts at 1 and is updated before the prompt's rewards are computed. POW3R
    (2605.20164): constants, normaliser and negative criteria are our reading. Raises ValueError if no row
    ever had criteria.
    """
    criteria = rows.criteria
    if criteria is None or not any(named for row in criteria for named in row):
        if state.get("alpha") or not bool(rows.scorable.any()):
            return weighted_sum(rows, state)
        raise ValueError(
            "no reward returned `criteria`: pow3r needs a reward that returns a score for each criterion"
        )
    prompts = rows.prompts or tuple(str(number) for number in rows.group.tolist())
    alphas = dict(state.get("alpha", {}))
    moving, still = rows.values.clone(), rows.values.clone()
    for number in torch.unique(rows.group).tolist():
        members = torch.nonzero(rows.group == number).squeeze(1).tolist()
        factors = dict(alphas.get(prompts[members[0]], {}))
        for column in range(rows.values.shape[1]):
            named = [row for row in members if criteria[row][column] and rows.scorable[row]]
            names = sorted({name for row in named for name in criteria[row][column]})
            if not names:
                continue
            table = [[criteria[row][column].get(name, torch.nan) for name in names] for row in named]
            scores = torch.tensor(table, dtype=torch.float64)
            base_weights = torch.tensor(
                [(weights or {}).get(name, 1.0) for name in names], dtype=torch.float64
            )
            category = _numbered([(categories or {}).get(name) for name in names])
            keys = [f"{rows.names[column] if rows.names else column}/{name}" for name in names]
            alpha = torch.tensor([factors.get(key, 1.0) for key in keys], dtype=torch.float64)
            if len(named) > 1:
                alpha = updated_alpha(
                    scores, category, alpha, blend=blend, smoothing=smoothing, low=alpha_min, high=alpha_max
                )
            factors |= dict(zip(keys, alpha.tolist(), strict=True))
            alphas[prompts[members[0]]] = factors
            moving[named, column] = rubric_reward(scores, base_weights * alpha, category)
            still[named, column] = rubric_reward(scores, base_weights, category)
    return Combined(rewards=sum_of(rows, moving), state={"alpha": alphas}, reported=sum_of(rows, still))


def _numbered(categories: list[str | None]) -> Tensor:
    category_names = sorted({name for name in categories if name is not None})
    return torch.tensor([0 if name is None else 1 + category_names.index(name) for name in categories])
