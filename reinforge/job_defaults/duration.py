"""Estimates the duration of a job that has not started, from earlier jobs or a pre-flight."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reinforge.job_defaults.values import TimeEstimate
from reinforge.preflight import costs
from reinforge.preflight.observed import Observed
from reinforge.preflight.report import Range
from reinforge.spec import JobSpec

ENOUGH_STEPS = 3
TIMES = ("time/step", "time/generate", "time/score")


@dataclass(frozen=True, slots=True)
class EarlierJob:
    """Measured job with the same model, engine and sampling as the new one, on a worker like those online."""

    id: str
    completions_per_step: int
    step_seconds: Sequence[float]
    """Seconds of each step except the first, which includes the warm-up."""
    sampling_seconds: float
    tokens: float
    load_seconds: float
    device: str
    same_data: bool


def from_jobs(spec: JobSpec, jobs: Sequence[EarlierJob], held_out: int) -> TimeEstimate | None:
    """Estimate from step times of earlier jobs, scaled by tokens. Jobs on the same dataset are preferred."""
    measured = [job for job in jobs if len(job.step_seconds) >= ENOUGH_STEPS]
    measured = [job for job in measured if job.same_data] or measured
    if not measured:
        return None
    steps = [_step(spec, job) for job in measured]
    per_step = Range(
        low=min(step.low for step in steps),
        expected=statistics.median(step.expected for step in steps),
        high=max(step.high for step in steps),
    )
    sampled = statistics.median(
        job.sampling_seconds * _factor(spec, job) * costs.evaluation_share(spec, held_out) for job in measured
    )
    fixed = statistics.median(job.load_seconds for job in measured)
    devices = sorted({job.device for job in measured})
    total = [
        fixed + spec.limits.steps * seconds + sampled
        for seconds in (per_step.low, per_step.expected, per_step.high)
    ]
    count = "1 earlier job" if len(measured) == 1 else f"{len(measured)} earlier jobs"
    data = "this dataset" if measured[0].same_data else "other datasets"
    return TimeEstimate(
        seconds_per_step=per_step,
        seconds=_cut(spec, *total),
        source="jobs",
        ids=[job.id for job in measured],
        device=", ".join(devices),
        reason=f"From {count} with {spec.model} on {data}, scaled to this job's completions, on {', '.join(devices)}.",
    )


def from_preflight(
    id: str, spec: JobSpec, probed: JobSpec, observed: Observed, rounds: costs.Rounds
) -> TimeEstimate:
    """Estimate from the pre-flight's step times, scaled to the completions per step of `spec`."""
    factor = _completions(spec) / _completions(probed)
    values = [
        step | {name: None if (value := step.get(name)) is None else value * factor for name in TIMES}
        for step in observed.steps
    ]
    scaled = replace(observed, steps=values)
    hours = costs.hours(spec, scaled, rounds)
    seconds = [3600 * end for end in (hours.low, hours.expected, hours.high)]
    again = (rounds.now - 1) * statistics.median(costs.timed(scaled, "time/generate"))
    timed = [seconds + again for seconds in costs.timed(scaled, "time/step")]
    device = str(observed.facts.get("device", "unknown"))
    return TimeEstimate(
        seconds_per_step=Range(low=min(timed), expected=statistics.median(timed), high=max(timed)),
        seconds=_cut(spec, *seconds),
        source="preflight",
        ids=[id],
        device=device,
        reason=f"From the pre-flight's {len(timed)} timed steps, scaled to this job's completions, on {device}.",
    )


def _step(spec: JobSpec, job: EarlierJob) -> Range:
    factor = _factor(spec, job)
    ordered = sorted(job.step_seconds)
    tenth = (len(ordered) - 1) // 10
    return Range(
        low=ordered[tenth] * factor,
        expected=statistics.median(ordered) * factor,
        high=ordered[-1 - tenth] * factor,
    )


def _factor(spec: JobSpec, job: EarlierJob) -> float:
    length = min(job.tokens, spec.rollout.max_completion_tokens)
    return _completions(spec) * length / max(1e-9, job.completions_per_step * job.tokens)


def _completions(spec: JobSpec) -> int:
    return spec.rollout.prompts_per_step * spec.rollout.completions_per_prompt


def _cut(spec: JobSpec, low: float, expected: float, high: float) -> Range:
    most = spec.limits.max_seconds or float("inf")
    return Range(low=min(low, most), expected=min(expected, most), high=min(high, most))
