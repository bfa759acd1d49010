"""Change of a held-out mean since the base, and whether it is more than chance."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reinforge.diagnosis.curve import step_since
from reinforge.diagnosis.verdict import FEWEST_ROWS, Points

REWARD = ("held_out/reward_mean", "held_out/reward_std_error")
ANSWERS = ("held_out/answer_share", "held_out/answer_std_error")
LEAST_CHANGE = 0.01


@dataclass(frozen=True)
class HeldOutChange:
    first: float
    last: float
    best: float
    best_step: int
    clear: bool
    """Whether the mean rose beyond chance."""
    fell: bool
    """Whether the mean fell from its best beyond chance."""
    worse_since: int | None
    """First step of a fall below the first evaluation, if beyond chance."""


def held_out_of(
    series: Mapping[str, Points], rows: int | None, keys: tuple[str, str] = REWARD
) -> HeldOutChange | None:
    """Change of a held-out mean; None with fewer than two evaluations. keys: mean and standard error."""
    curve, errors = series.get(keys[0], ()), dict(series.get(keys[1], ()))
    if len(curve) < 2:
        return None
    (first_step, first), (last_step, last) = curve[0], curve[-1]
    best_step, best = max(curve, key=lambda point: point[1])
    quantile = _quantile(rows)

    def chance(before: int, after: int) -> float:
        """Largest change between two evaluations that chance can explain."""
        error = math.hypot(errors.get(before, 0.0), errors.get(after, 0.0))
        return quantile * error if math.isfinite(quantile) else quantile

    worse_since = None
    if first - last > max(chance(first_step, last_step), LEAST_CHANGE):
        since = step_since(curve, lambda value: value < first)
        worse_since = last_step if since is None else since
    return HeldOutChange(
        first=first,
        last=last,
        best=best,
        best_step=best_step,
        clear=last - first > chance(first_step, last_step),
        fell=best_step > first_step and best - last > max(chance(best_step, last_step), LEAST_CHANGE),
        worse_since=worse_since,
    )


def _quantile(rows: int | None) -> float:
    """Number of standard errors above which a change is more than chance; infinite with too few rows."""
    if rows is None:
        return 2.0
    if rows < FEWEST_ROWS:
        return math.inf
    degrees = rows - 1
    return 1.96 + 2.4 / degrees + 3 / degrees**2
