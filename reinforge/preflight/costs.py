"""Estimates hours and memory of a job from a few of its steps."""

import statistics
from dataclasses import dataclass

from reinforge.preflight.drift import widening
from reinforge.preflight.observed import Observed
from reinforge.preflight.report import Range
from reinforge.spec import JobSpec


@dataclass(frozen=True, slots=True)
class Rounds:
    now: float = 1.0
    learned: float = 1.0


def step_seconds(observed: Observed) -> float:
    return statistics.median(timed(observed, "time/step"))


def hours(spec: JobSpec, observed: Observed, rounds: Rounds) -> Range:
    """Estimate a job's hours on the probe job's machine."""
    durations = timed(observed, "time/step")
    generate = statistics.median(timed(observed, "time/generate"))
    scoring = statistics.median(timed(observed, "time/score") or [0.0])
    median, steps = statistics.median(durations), spec.limits.steps
    held_out = observed.facts.get("held_out_rows")
    share = evaluation_share(spec, held_out if isinstance(held_out, int) else None)
    evaluation = share * (generate + scoring)
    fixed = observed.load_seconds + _checkpoints(spec) * observed.save_seconds
    per_token = 1 - scoring / max(median, 1e-9)
    grown = 1 + per_token * (widening(observed) - 1)
    again = (rounds.now + rounds.learned) / 2 - 1
    low = fixed + steps * (min(durations) + (rounds.now - 1) * generate) + evaluation
    expected = fixed + (steps * (median + again * generate) + evaluation) * grown
    limit = spec.rollout.max_completion_tokens / max(1.0, mean_tokens(observed))
    high = (
        fixed
        + (steps * (max(durations) + (max(rounds.now, rounds.learned) - 1) * generate) + evaluation) * limit
    )
    cut = spec.limits.max_seconds or float("inf")
    ends = {"low": min(low, expected), "expected": expected, "high": max(high, expected)}
    return Range(**{name: min(seconds, cut) / 3600 for name, seconds in ends.items()})


def memory(spec: JobSpec, observed: Observed) -> Range:
    peak = max((values.get("memory/peak") or 0.0) for values in observed.steps)
    loaded = observed.facts.get("memory_gib")
    base = float(loaded) if isinstance(loaded, int | float) else 0.0
    longest = max((sampled.tokens for sampled in observed.completions), default=1)
    limit = max(1.0, spec.rollout.max_completion_tokens / max(1, longest))
    added = max(0.0, peak - base)
    expected = base + added * max(1.0, widening(observed))
    return Range(low=peak, expected=expected, high=max(expected, base + added * limit))


def tokens_in_all(spec: JobSpec, observed: Observed) -> Range:
    rollout = spec.rollout
    count = spec.limits.steps * rollout.prompts_per_step * rollout.completions_per_prompt
    mean = mean_tokens(observed)
    return Range(low=count * mean, expected=count * mean, high=float(count * rollout.max_completion_tokens))


def mean_tokens(observed: Observed) -> float:
    return statistics.fmean(sampled.tokens for sampled in observed.completions)


def timed(observed: Observed, key: str) -> list[float]:
    listed = [value for values in observed.steps if (value := values.get(key)) is not None]
    return listed[1:] or listed


def evaluation_share(spec: JobSpec, held_out: int | None) -> float:
    rows = spec.evaluation.rows if held_out is None else min(spec.evaluation.rows, held_out)
    per_step = spec.rollout.prompts_per_step * spec.rollout.completions_per_prompt
    return _evaluations(spec) * rows * spec.evaluation.samples_per_row / per_step


def _evaluations(spec: JobSpec) -> int:
    every = spec.evaluation.every_steps
    return 2 + ((spec.limits.steps - 1) // every if every else 0)


def _checkpoints(spec: JobSpec) -> int:
    return 1 + (spec.limits.steps - 1) // spec.limits.checkpoint_every
