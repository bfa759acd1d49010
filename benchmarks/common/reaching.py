"""How much training it takes until held-out rows are answered well, of both trainers' runs. Pure functions."""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common.folder import Folder, Series
from common.learned import ACCURACY, median_range, steps_to

LEVEL = 0.9
"""Reached by the first of two evaluations in a row."""


@dataclass(frozen=True, slots=True)
class Reached:
    """One run: of its evaluations (step, share of right answers), of its steps the seconds without evaluations."""

    arm: str
    seed: int
    accuracy: list[tuple[int, float]]
    seconds: list[float]

    @property
    def steps(self) -> int | None:
        """Until the level is reached; None where it never was."""
        series = Series.of((step, {ACCURACY: value}) for step, value in self.accuracy)
        return steps_to(series, ACCURACY, LEVEL)

    @property
    def time(self) -> float | None:
        return None if self.steps is None else sum(self.seconds[: self.steps])

    def as_dict(self, batch: int) -> dict[str, Any]:
        """`batch`: completions per step."""
        samples = None if self.steps is None else self.steps * batch
        return {
            "arm": self.arm,
            "seed": self.seed,
            "samples": samples,
            "seconds": self.time,
            "accuracy": [list(point) for point in self.accuracy],
            "step_seconds": [round(value, 4) for value in self.seconds],
        }


def reached(arm: str, seed: int, report: Mapping[str, Any]) -> Reached:
    """`said`: seconds at which training `began` and each step of it `ends`, and `evaluations`, each with its `step`,
    `accuracy` and when it `ended`. A step begins where training does, or the step or evaluation before it ends."""
    looks = report["evaluations"]
    edges = [report["began"], *report["ends"], *(look["ended"] for look in looks)]
    seconds = [end - max(edge for edge in edges if edge < end) for end in report["ends"]]
    return Reached(arm, seed, [(look["step"], look["accuracy"]) for look in looks], seconds)


def report_of(folder: Folder) -> dict[str, Any]:
    """What `reached` asks for, of our trainer's run folder; seconds since training began."""
    phases = [
        phase["ts"] for phase in folder.records("phase") if phase["phase"] in ("evaluating", "generating")
    ]
    began = phases[0]
    looks = [
        {"step": record["step"], "accuracy": record["values"][ACCURACY], "ended": record["ts"] - began}
        for record in folder.records("evaluated")
    ]
    ends = [step["ts"] - began for step in folder.records("step_metrics")]
    return {"began": 0.0, "ends": ends, "evaluations": looks}


def compared(own: Sequence[Reached], other: Sequence[Reached], batch: int) -> dict[str, Any]:
    """[median, least, most] of each side, and ratios of medians: of samples ours to theirs, of seconds theirs to ours.
    A run that never gets there counts as longer than all others; a ratio without a median is None."""
    comparison: dict[str, Any] = {}
    for name, side in (("ours", own), ("peer", other)):
        steps = median_range([run.steps for run in side])
        comparison[f"{name}_samples"] = [None if count is None else count * batch for count in steps]
        comparison[f"{name}_seconds"] = median_range([run.time for run in side])
        comparison[f"{name}_step_seconds"] = statistics.median(
            itertools.chain.from_iterable(run.seconds[1:] for run in side)
        )
    comparison["samples_ratio"] = _ratio(comparison["ours_samples"][0], comparison["peer_samples"][0])
    comparison["speed_ratio"] = _ratio(comparison["peer_seconds"][0], comparison["ours_seconds"][0])
    return comparison


def best(arms: Mapping[str, Sequence[Reached]]) -> str:
    """The arm that needs the fewest samples, by its median; of equal ones, and where none gets there, the one that ends
    highest."""

    def rank(arm: str) -> tuple[float, float]:
        runs = arms[arm]
        median = median_range([run.steps for run in runs])[0]
        ends = statistics.median(run.accuracy[-1][1] for run in runs)
        return (math.inf if median is None else median, -ends)

    return min(arms, key=rank)


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None
