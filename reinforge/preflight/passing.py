"""Estimates pass rates per row from a few completions."""

import math
from collections.abc import Sequence


def pass_at_k(n: int, right: int, k: int) -> float:
    """Unbiased estimate of the probability that at least one of k completions passes, if `right` of n did.

    Chen et al. 2021, arXiv 2107.03374, eq. 1.
    """
    if n - right < k:
        return 1.0
    return 1.0 - math.prod((n - right - i) / (n - i) for i in range(k))


def fit_rates(counts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Fit Beta(a, b) to pass rates by the method of moments. counts: (completions, passes) of each row."""
    sizes = [n for n, _ in counts]
    total = sum(sizes)
    mean = (sum(right for _, right in counts) + 0.5) / (total + 1)
    n = total / len(counts)
    spread = sum((right / size - mean) ** 2 for size, right in counts) / max(1, len(counts) - 1)
    chance = mean * (1 - mean) / n
    between = max(spread - chance, 1e-4 * mean * (1 - mean)) * (n / max(n - 1, 1e-9) if n > 1 else 1.0)
    strength = max(mean * (1 - mean) / between - 1, 1e-3)
    return mean * strength, (1 - mean) * strength


def mixed_share(a: float, b: float, size: int) -> float:
    """Share of mixed groups, 1 - E[p^size] - E[(1 - p)^size], if the pass rate p follows Beta(a, b)."""
    all_right = math.prod((a + i) / (a + b + i) for i in range(size))
    all_wrong = math.prod((b + i) / (a + b + i) for i in range(size))
    return max(0.0, 1.0 - all_right - all_wrong)
