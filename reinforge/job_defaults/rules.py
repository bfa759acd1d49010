"""Rules that suggest values for a job's fields. Numbers without a source are our own starting points."""

from dataclasses import dataclass
from typing import Any

from reinforge.base_models.learning_rate import explained
from reinforge.job_defaults.fields import (
    ENGINE,
    GROUP,
    LENGTH,
    PROMPTS,
    RATE,
    STEPS,
    UPDATES,
    of_preset,
    stated,
)
from reinforge.job_defaults.sizes import JobSizes
from reinforge.job_defaults.values import JobDefault

LENGTHS = ((1_000_000_000, 1024), (100_000_000, 512), (0, 256))
CPU_LENGTH = 256
MULTIPLE = 64
PROMPTS_PER_STEP = 16
GROUP_SIZE = 8
LARGEST_GROUP = 32
USUAL_STEPS = 100
FEWEST_STEPS, MOST_STEPS = 30, 500
MOST_PASSES = 20
"""Maximum passes over the rows: more would memorise them."""
HALF_USEFUL = 0.5


@dataclass(frozen=True, slots=True)
class _Job:
    raw: dict[str, Any]
    sizes: JobSizes

    def value(self, default: JobDefault) -> int:
        own = stated(self.raw, default.field)
        return own if isinstance(own, int) and own > 0 else int(default.value)


def job_defaults(raw: dict[str, Any], sizes: JobSizes) -> list[JobDefault]:
    job = _Job(raw, sizes)
    prompts = _by_method(job, PROMPTS) or _prompts(job)
    per_step = job.value(prompts)
    group = _by_method(job, GROUP) or _from_preflight(job, GROUP) or _group(job, per_step)
    length = _by_method(job, LENGTH) or _from_preflight(job, LENGTH) or _length(job)
    steps = _by_method(job, STEPS) or _steps(job, per_step)
    rate = [] if sizes.hidden_size is None else [_rate(job, sizes.hidden_size)]
    return [_engine(job), length, group, prompts, steps, *rate]


def _by_method(job: _Job, field: str) -> JobDefault | None:
    value = of_preset(job.raw, field)
    if value is None:
        return None
    name = stated(job.raw, "algorithm.preset")
    return JobDefault(field=field, value=value, reason=f"The method {name} sets this value.", basis="method")


def _engine(job: _Job) -> JobDefault:
    def engine(name: str, reason: str) -> JobDefault:
        return JobDefault(field=ENGINE, value="auto", becomes=name, reason=reason, basis="workers")

    top_p = stated(job.raw, "rollout.top_p")
    if isinstance(top_p, int | float) and top_p < 1:
        return engine("transformers", f"vLLM cannot sample with top_p {top_p:g} for training.")
    if job.sizes.engine == "vllm":
        return engine("vllm", "Every online worker has a GPU with vLLM.")
    if not job.sizes.devices:
        return engine("transformers", "No worker is online; vllm needs a GPU with vLLM on every worker.")
    if all(device == "cpu" for device in job.sizes.devices):
        return engine("transformers", "No online worker has a GPU.")
    return engine("transformers", "Not every online worker has a GPU with vLLM.")


def _from_preflight(job: _Job, field: str) -> JobDefault | None:
    preflight = job.sizes.preflight
    if preflight is None:
        return None
    report, rollout = preflight.report, preflight.spec.rollout
    suggested = next((one for one in report.suggestions if one.field == field), None)
    value = int(suggested.value) if suggested else int(getattr(rollout, field.removeprefix("rollout.")))
    if field == LENGTH:
        reason = (
            f"In the pre-flight {report.truncated_share:.0%} of completions were cut off at {value:,} tokens."
        )
        if (room := _room(job)) is not None and value > room:
            return _length_in(job, room)
    else:
        reason = f"In the pre-flight rewards differed in {report.groups.useful:.0%} of groups of {value}."
    if suggested:
        reason = f"By the pre-flight: {suggested.why[:1].lower()}{suggested.why[1:]}"
    return JobDefault(field=field, value=value, reason=reason, basis="preflight")


def _length(job: _Job) -> JobDefault:
    sizes = job.sizes
    if sizes.parameters is None:
        value, reason = (
            LENGTHS[-1][1],
            "The base model's size is unknown; run the pre-flight to measure lengths.",
        )
    else:
        value = next(tokens for least, tokens in LENGTHS if sizes.parameters >= least)
        reason = f"A starting point for a model of {_count(sizes.parameters)} parameters."
    basis = "model" if sizes.parameters is not None else "general"
    if sizes.devices and all(device == "cpu" for device in sizes.devices) and value > CPU_LENGTH:
        value, basis = CPU_LENGTH, "workers"
        reason = "No online worker has a GPU, so longer completions would take too much time."
    answer = sizes.texts.longest_answer if sizes.texts else None
    if answer is not None and 2 * answer > value:
        value, basis = -(-2 * answer // MULTIPLE) * MULTIPLE, "data"
        how = "" if sizes.texts and sizes.texts.counted else ", estimated from characters"
        reason = f"Twice the longest reference answers ({answer:,} tokens{how})."
    room = _room(job)
    if room is not None and value > room:
        return _length_in(job, room)
    return JobDefault(field=LENGTH, value=value, reason=reason, basis=basis)


def _length_in(job: _Job, room: int) -> JobDefault:
    prompt = f" and the longest prompt {job.sizes.texts.longest_prompt:,}" if job.sizes.texts else ""
    reason = f"The model's context has {job.sizes.context or 0:,} tokens{prompt}."
    return JobDefault(field=LENGTH, value=room, reason=reason, basis="model")


def _room(job: _Job) -> int | None:
    if job.sizes.context is None:
        return None
    own = stated(job.raw, "rollout.max_prompt_tokens")
    longest = job.sizes.texts.longest_prompt if job.sizes.texts else job.sizes.context // 2
    return max(1, job.sizes.context - (own if isinstance(own, int) else longest))


def _prompts(job: _Job) -> JobDefault:
    rows = job.sizes.rows
    updates = stated(job.raw, "algorithm.updates_per_step")
    least = updates if isinstance(updates, int) else 1
    if rows < PROMPTS_PER_STEP and least <= max(rows, 1):
        reason = f"Only {_rows(rows)} {'trains' if rows == 1 else 'train'}: no row repeats within a step."
        return JobDefault(field=PROMPTS, value=max(rows, 1), reason=reason, basis="data")
    if least > PROMPTS_PER_STEP or rows < PROMPTS_PER_STEP:
        value, reason = max(PROMPTS_PER_STEP, least), f"Each of the {least} updates of a step needs a prompt."
        return JobDefault(field=PROMPTS, value=value, reason=reason, basis="method")
    reason = f"The usual starting point; with {_rows(rows)} none repeats within a step."
    return JobDefault(field=PROMPTS, value=PROMPTS_PER_STEP, reason=reason, basis="general")


def _group(job: _Job, prompts: int) -> JobDefault:
    rows = job.sizes.rows
    if 0 < rows < PROMPTS_PER_STEP and prompts <= rows:
        size = min(LARGEST_GROUP, 2 ** ((PROMPTS_PER_STEP * GROUP_SIZE // prompts).bit_length() - 1))
        reason = (
            f"With only {prompts} prompts a step, larger groups give {prompts * size} completions a step."
        )
        return JobDefault(field=GROUP, value=size, reason=reason, basis="data")
    mixed = 1 - 0.9**GROUP_SIZE - 0.1**GROUP_SIZE
    reason = (
        f"{mixed:.0%} of groups of {GROUP_SIZE} have right and wrong answers if 1 in 10 is right; "
        "the pre-flight measures it."
    )
    return JobDefault(field=GROUP, value=GROUP_SIZE, reason=reason, basis="general")


def _steps(job: _Job, prompts: int) -> JobDefault:
    rows = max(1, job.sizes.rows)
    most = max(FEWEST_STEPS, MOST_PASSES * rows // prompts)
    once = -(-rows // prompts)
    steps, basis, reason = USUAL_STEPS, "data", ""
    preflight = job.sizes.preflight
    useful = preflight.report.groups.useful if preflight else None
    if useful is not None and 0 < useful < HALF_USEFUL:
        steps = round(min(2.0, HALF_USEFUL / useful) * USUAL_STEPS)
        reason = (
            f"Rewards differed in only {useful:.0%} of the pre-flight's groups, so learning takes more steps."
        )
        basis = "preflight"
    if steps > most:
        steps, basis = most, "data"
        times = f"{most * prompts / rows:.0f} times"
        reason = f"{most:,} steps see each of the {_rows(rows)} {times}; more would mostly memorise them."
    elif steps < once:
        steps, basis = min(once, MOST_STEPS), "data"
        reason = f"{steps:,} steps see each of the {_rows(rows)} once."
        if once > MOST_STEPS:
            reason = f"{steps:,} steps use {MOST_STEPS * prompts:,} of the {_rows(rows)}."
    reason = reason or f"{steps:,} steps see each of the {_rows(rows)} {_times(steps * prompts / rows)}."
    return JobDefault(field=STEPS, value=steps, reason=reason, basis=basis)


def _rate(job: _Job, hidden_size: int) -> JobDefault:
    rate = explained(hidden_size, int(stated(job.raw, UPDATES) or 1))
    return JobDefault(field=RATE, value="auto", becomes=rate.value, reason=rate.reason, basis="model")


def _rows(rows: int) -> str:
    return f"{rows:,} {'row' if rows == 1 else 'rows'}"


def _times(passes: float) -> str:
    return "once" if round(passes, 1) == 1 else f"{passes:.1f} times"


def _count(parameters: int) -> str:
    for size, word in ((1_000_000_000, "billion"), (1_000_000, "million")):
        if parameters >= size:
            return f"{parameters / size:.1f} {word}".replace(".0 ", " ")
    return f"{parameters:,}"
