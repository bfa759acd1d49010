"""What learning runs show: per run, and over the seeds of a preset. Pure functions over results."""

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

from common.folder import Series
from common.runs import Result

ACCURACY = "held_out/pass@1"
NUMBERS = ("steps", "start", "end", "to_85", "to_90", "clip_low", "clip_high", "seconds", "memory_gib")
CLIPS = ("policy/clip_low_share", "policy/clip_high_share")


def steps_to(series: Series, metric: str, at_least: float) -> int | None:
    """The step of the first of two evaluations in a row that reach it; None when there are no such two."""
    points = series.points(metric)
    for (step, value), (_, later) in itertools.pairwise(points):
        if value >= at_least and later >= at_least:
            return step
    return None


def of_run(result: Result) -> dict[str, Any]:
    """One run's numbers. Entropy in nats per token, length in tokens; each as it was at the start and at the end."""
    train, held_out = result.train, result.held_out
    accuracy = held_out.points(ACCURACY)
    lengths = held_out.points("held_out/length_mean")
    return {
        "seed": result.seed,
        "digest": result.digest,
        "outcome": result.outcome,
        "steps": result.step,
        "start": accuracy[0][1] if accuracy else None,
        "end": accuracy[-1][1] if accuracy else None,
        "to_85": steps_to(held_out, ACCURACY, 0.85),
        "to_90": steps_to(held_out, ACCURACY, 0.90),
        "entropy": ends(train, "entropy/mean", 3),
        "length": [round(lengths[0][1], 1), round(lengths[-1][1], 1)] if lengths else None,
        "clip_low": mean(train, CLIPS[0]),
        "clip_high": mean(train, CLIPS[1]),
        "seconds": round(result.seconds),
        "memory_gib": result.memory_gib and round(result.memory_gib, 2),
        "curve": [[step, round(value, 3)] for step, value in accuracy],
    }


def ends(series: Series, metric: str, width: int) -> list[float] | None:
    """Means over the first and the last `width` values."""
    values = [value for _, value in series.points(metric)]
    if not values:
        return None
    return [round(statistics.fmean(part), 4) for part in (values[:width], values[-width:])]


def mean(series: Series, metric: str) -> float | None:
    """Over all steps that have a value, to three significant digits."""
    values = [value for _, value in series.points(metric)]
    return float(f"{statistics.fmean(values):.3g}") if values else None


def over_seeds(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """[median, smallest, largest] of each number of `of_run`; of starts and ends the medians."""
    numbers: dict[str, Any] = {key: median_range([run[key] for run in runs]) for key in NUMBERS}
    for key in ("entropy", "length"):
        pairs = [run[key] for run in runs if run[key] is not None]
        numbers[key] = [statistics.median(side) for side in zip(*pairs, strict=True)] or None
    return numbers


def median_range(values: Sequence[float | None]) -> list[float | None]:
    """[median, smallest, largest]; a missing value (not reached) is larger than all others, and stays None."""
    if not values:
        return [None, None, None]
    ordered = sorted(math.inf if value is None else float(value) for value in values)
    half = len(ordered) // 2
    middle = statistics.median(ordered) if ordered[half] < math.inf else math.inf
    return [None if value == math.inf else value for value in (middle, ordered[0], ordered[-1])]
