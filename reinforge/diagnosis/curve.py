"""Statistics of one metric's curve."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Literal

from reinforge.diagnosis.verdict import Points

MIN_TREND_POINTS = 5


@dataclass(frozen=True)
class Trend:
    """Mean at each end of a curve, and whether they differ by more than its scatter."""

    start: float
    end: float
    direction: Literal["up", "down", "flat"]


def mean_of(points: Points) -> float:
    return fmean(value for _, value in points)


def recent_mean(points: Points, count: int = 5) -> float | None:
    return mean_of(points[-count:]) if points else None


def trend_of(points: Points) -> Trend | None:
    """None with fewer than five points. Each end is the mean of a tenth of the curve, as `courseOf` (sentence.ts)."""
    if len(points) < MIN_TREND_POINTS:
        return None
    width = max(1, min(10, len(points) // 10))
    scatter = _scatter(points)
    first = _end([value for _, value in points[:width]], scatter)
    last = _end([value for _, value in points[-width:]][::-1], scatter)
    start, end = fmean(first), fmean(last)
    rise = end - start
    scale = max(abs(start), abs(end), 1e-12)
    chance = 3 * scatter * math.sqrt(1 / len(first) + 1 / len(last))
    clear = abs(rise) > chance and abs(rise) > 0.03 * scale
    return Trend(start, end, ("up" if rise > 0 else "down") if clear else "flat")


def _end(values: list[float], scatter: float) -> list[float]:
    half = len(values) // 2
    if half == 0:
        return values
    outer, inner = values[:half], values[half:]
    chance = 3 * scatter * math.sqrt(1 / len(outer) + 1 / len(inner))
    return _end(outer, scatter) if abs(fmean(outer) - fmean(inner)) > chance else values


def step_since(points: Points, holds: Callable[[float], bool]) -> int | None:
    """First step from which every value meets a condition; None if the last value does not."""
    first: int | None = None
    for step, value in reversed(points):
        if not holds(value):
            break
        first = step
    return first


def _scatter(points: Points) -> float:
    """Root mean square difference of neighbors over √2."""
    squares = [(after - before) ** 2 for (_, before), (_, after) in pairwise(points)]
    return math.sqrt(fmean(squares) / 2) if squares else 0.0
