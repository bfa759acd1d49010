"""Hours and memory of a whole job from a few of its steps."""

import statistics

from reinforge.preflight.observed import Observed
from reinforge.preflight.report import Range
from reinforge.spec import JobSpec


def step_seconds(observed: Observed) -> float:
    """Median over the steps after the first, which warms up."""
    return statistics.median(_timed(observed, "time/step"))


def hours(spec: JobSpec, observed: Observed, held_out_rows: int, rounds: float) -> Range:
    """Of the whole job on the machine that ran the probe.

    `rounds`: how often a step samples, on average (dynamic sampling). Low and expected: lengths stay as they are;
    high: all completions grow to the limit.
    """
    timed = _timed(observed, "time/step")
    generate = statistics.median(_timed(observed, "time/generate"))
    median = statistics.median(timed) + (rounds - 1) * generate
    growth = spec.rollout.max_completion_tokens / max(1.0, mean_tokens(observed))
    evaluation = _evaluation_seconds(spec, generate, held_out_rows)
    fixed = observed.load_seconds + _checkpoints(spec) * observed.save_seconds
    low = fixed + spec.limits.steps * (min(timed) + (rounds - 1) * generate) + evaluation
    expected = fixed + spec.limits.steps * median + evaluation
    high = fixed + (spec.limits.steps * max(median, *timed) + evaluation) * growth
    cut = spec.limits.max_seconds or float("inf")
    return Range(**{name: min(seconds, cut) / 3600 for name, seconds in
                    {"low": low, "expected": expected, "high": max(high, expected)}.items()})  # fmt: skip


def memory(spec: JobSpec, observed: Observed) -> Range:
    """Peak of the trainer in GiB. What the steps added to the loaded model grows with the longest completion."""
    peak = max((values.get("memory/peak") or 0.0) for values in observed.steps)
    loaded = observed.facts.get("memory_gib")
    base = float(loaded) if isinstance(loaded, int | float) else 0.0
    longest = max((each.tokens for each in observed.completions), default=1)
    growth = max(1.0, spec.rollout.max_completion_tokens / max(1, longest))
    return Range(low=peak, expected=peak, high=base + max(0.0, peak - base) * growth)


def tokens_in_all(spec: JobSpec, observed: Observed) -> Range:
    rollout = spec.rollout
    count = spec.limits.steps * rollout.prompts_per_step * rollout.completions_per_prompt
    mean = mean_tokens(observed)
    return Range(low=count * mean, expected=count * mean, high=float(count * rollout.max_completion_tokens))


def mean_tokens(observed: Observed) -> float:
    return statistics.fmean(each.tokens for each in observed.completions)


def _timed(observed: Observed, key: str) -> list[float]:
    listed = [value for values in observed.steps if (value := values.get(key)) is not None]
    return listed[1:] or listed


def _evaluation_seconds(spec: JobSpec, generate: float, held_out_rows: int) -> float:
    rows = min(spec.evaluation.rows, held_out_rows)
    per_step = spec.rollout.prompts_per_step * spec.rollout.completions_per_prompt
    return _evaluations(spec) * generate * rows * spec.evaluation.samples_per_row / per_step


def _evaluations(spec: JobSpec) -> int:
    """Before the first step, after the last, and every so often in between."""
    every = spec.evaluation.every_steps
    return 2 + ((spec.limits.steps - 1) // every if every else 0)


def _checkpoints(spec: JobSpec) -> int:
    return 1 + (spec.limits.steps - 1) // spec.limits.checkpoint_every
