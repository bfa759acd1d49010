"""Process supervision: rewards for steps inside a completion (`rows.steps`)."""

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import StdKind, standardised
from worker.algorithm.rows import Rows, Steps


def normalised_steps(
    rows: Rows, steps: Steps, keep: Tensor, *, std: StdKind = "sample", eps: float = 1e-4
) -> Tensor:
    """(S,) float64: rewards standardised over all steps of a group, so that rows with more
    steps weigh more.
    """
    return standardised(steps.values, rows.group[steps.row], keep[steps.row], std=std, eps=eps)


def process(
    rows: Rows, rewards: Tensor, keep: Tensor, *, std: StdKind = "sample", eps: float = 1e-4
) -> Tensor:
    """Advantages (N, T): sum of the normalised rewards of the steps that end at or after a token.

    DeepSeekMath (2402.03300), section 4.1.3. Ignores `rewards`. Raises ValueError without `rows.steps`.
    """
    steps: Steps = rows.needed("steps")
    values = normalised_steps(rows, steps, keep, std=std, eps=eps)
    ends = steps.end.clamp(max=rows.mask.shape[1])
    some = ends > 0
    marks = torch.zeros(rows.mask.shape, dtype=torch.float64)
    marks.index_put_((steps.row[some], ends[some] - 1), values[some], accumulate=True)
    return torch.where(rows.mask & keep[:, None], marks.flip(1).cumsum(1).flip(1), 0.0)
