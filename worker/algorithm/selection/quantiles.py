"""Quantiles of a stream: a t-digest (Dunning and Ertl 2019), exact while it is short."""

from collections.abc import Iterable, Sequence

Sketch = list[list[float]]

EXACT_UNTIL = 512
"""Number of centroids above which they are merged."""
COMPRESSION = 100
"""Bound: of n values, a centroid at quantile q holds at most 4·n·q·(1 - q) / COMPRESSION."""


def added(sketch: Sequence[Sequence[float]], values: Iterable[float]) -> Sketch:
    centroids = sorted(
        [[float(mean), float(weight)] for mean, weight in sketch] + [[float(v), 1.0] for v in values]
    )
    return centroids if len(centroids) <= EXACT_UNTIL else _compressed(centroids)


def count(sketch: Sequence[Sequence[float]]) -> int:
    return round(sum(weight for _, weight in sketch))


def quantile(sketch: Sequence[Sequence[float]], q: float) -> float:
    """Value at quantile `q`, linearly interpolated. Raises ValueError for an empty sketch."""
    if not sketch:
        raise ValueError("an empty sketch has no quantile")
    target = q * (count(sketch) - 1)
    before, left, at = 0.0, None, 0.0
    for mean, weight in sketch:
        centre = before + (weight - 1) / 2
        if centre >= target:
            if left is None or centre == at:
                return mean
            return left + (mean - left) * (target - at) / (centre - at)
        before, left, at = before + weight, mean, centre
    return float(sketch[-1][0])


def _compressed(centroids: Sketch) -> Sketch:
    total = sum(weight for _, weight in centroids)
    merged = [list(centroids[0])]
    before = 0.0
    for mean, weight in centroids[1:]:
        last = merged[-1]
        together = last[1] + weight
        q = (before + together / 2) / total
        if together <= max(1.0, 4 * total * q * (1 - q) / COMPRESSION):
            last[0] += (mean - last[0]) * weight / together
            last[1] = together
        else:
            before += last[1]
            merged.append([mean, weight])
    return merged
