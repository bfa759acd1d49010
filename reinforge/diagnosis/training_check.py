"""Training check of a job at any time: whether it learns, its findings, and what goes well. `verdict` judges
ended jobs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reinforge.diagnosis.curve import trend_of
from reinforge.diagnosis.detectors import diagnose
from reinforge.diagnosis.finding import JobFinding
from reinforge.diagnosis.formats import format_number, format_reward
from reinforge.diagnosis.held_out_change import HeldOutChange, held_out_of
from reinforge.diagnosis.job_input import JobInput
from reinforge.diagnosis.verdict import Outcome

State = Literal["nothing", "early", "yes", "unsure", "no", "stuck"]

ENOUGH_STEPS = 5
NEARLY_ALL = 0.9
MOST_REASONS = 3
EARLY_CODES = frozenset(
    {
        "reward_failing", "leakage", "learning_rate_too_high", "sampler_mismatch", "all_truncated", "truncated",
        "answers_disagree", "worse_than_base", "reward_follows_length",
    }
)  # fmt: skip
"""Codes of findings that are reported before the job has enough steps for trends."""
_ORDER = {"error": 0, "warning": 1, "success": 2, "info": 3}


class Observation(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    code: str
    """Code of a finding, or of what goes well."""
    severity: Literal["error", "warning", "success", "info"]
    """`error`: act now. `warning`: watch it. `success`, `info`: for understanding."""
    title: str
    message: str
    hint: str | None = None
    step: int | None = None
    """Step at which the problem began, if known."""


LOSS = Observation(
    code="loss",
    severity="info",
    title="A loss near 0 is normal",
    message="Advantages of a group sum to 0 and the ratio is 1 before the first update, so the loss stays near 0 "
    "however well training goes. Only its gradient matters. Read the reward instead.",
)
"""Part of every check, because users look at the loss first."""
FINE = Observation(
    code="fine",
    severity="success",
    title="No problems found",
    message="Rewards work, completions are not truncated, and groups have a training signal.",
)
FINE_SO_FAR = FINE.model_copy(
    update={"title": "No problems so far", "message": "The first steps look normal."}
)
WAITING = Observation(
    code="waiting",
    severity="info",
    title="Waiting for the first step",
    message="Each step adds a point to every curve. After the first steps their meaning is explained here.",
)
NO_STEP = WAITING.model_copy(
    update={
        "title": "No finished step",
        "message": "The job ended before its first step, so there are no curves or completions.",
    }
)
UNPROVEN: dict[Outcome, Observation] = {
    "no_change": Observation(
        code="no-change",
        severity="warning",
        title="No improvement",
        message="No errors: rewards work, completions are not truncated, and groups differ.",
        hint="Try more steps or a higher learning rate.",
    ),
    "unknown": Observation(
        code="unknown",
        severity="info",
        title="Not enough data",
        message="Rewards work and completions are not truncated, but held-out rows show no clear change.",
        hint="Use at least 20 held-out rows.",
    ),
}
"""Summary of an ended job without problems or proven learning."""


class TrainingCheck(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    state: State
    """Whether the job learns. `nothing`: no step yet. `early`: too few steps. `yes`, `no`, `unsure`. `stuck`:
    little is left to learn.
    """
    message: str
    summary: Observation
    """The worst problem, or that there is none."""
    observations: list[Observation] = Field(default_factory=list)


@dataclass(frozen=True)
class Context:
    outcome: Outcome | None = None
    stopped: bool = False
    """Whether the job has ended or paused."""


def check_training(job: JobInput, context: Context | None = None) -> TrainingCheck:
    return checked(job, reported(job), context)


def reported(job: JobInput) -> list[JobFinding]:
    """Findings; in the job's first steps, only those that need no trend."""
    findings = diagnose(job)
    return findings if job.steps >= ENOUGH_STEPS else [item for item in findings if item.code in EARLY_CODES]


def checked(job: JobInput, findings: Sequence[JobFinding], context: Context | None = None) -> TrainingCheck:
    context = context or Context()
    held = held_out_of(job.series, job.held_out_rows)
    state, message = _answer(job, held, findings)
    praised = context.outcome in (None, "learned") and not any(item.doubt for item in findings)
    good = _good(job, held) if praised and job.steps >= ENOUGH_STEPS else []
    problems = [_observation(item) for item in findings]
    ordered = sorted([*problems, *good, LOSS], key=lambda item: _ORDER[item.severity] >= _ORDER["success"])
    return TrainingCheck(
        state=state, message=message, summary=_summary(ordered, state, context), observations=ordered
    )


def _observation(finding: JobFinding) -> Observation:
    return Observation(
        code=finding.code,
        severity=finding.severity,
        title=finding.title,
        message=finding.message,
        hint=finding.advice,
        step=finding.step,
    )


def _good(job: JobInput, held: HeldOutChange | None) -> list[Observation]:
    observations: list[Observation] = []
    if held is not None and held.clear:
        change = f"From {format_reward(held.first)} to {format_reward(held.last)}"
        text = f"{change} on rows that are not used for training."
        observations.append(
            Observation(code="held-out", severity="success", title="Held-out reward rose", message=text)
        )
    entropy = trend_of(job.curve("entropy/mean"))
    if entropy is not None and entropy.direction == "down":
        change = f"from {format_number(entropy.start)} to {format_number(entropy.end)} nat"
        text = f"Entropy fell {change} per token, as expected while the reward rises."
        observations.append(
            Observation(code="entropy", severity="info", title="Less exploration, as expected", message=text)
        )
    return observations


def _answer(job: JobInput, held: HeldOutChange | None, findings: Sequence[JobFinding]) -> tuple[State, str]:
    curve = job.curve("reward/mean")
    trend = trend_of(curve)
    if not curve:
        return "nothing", "No data yet."
    if len(curve) < ENOUGH_STEPS or trend is None:
        return "early", f"Too early to say: at least {ENOUGH_STEPS} steps are needed."
    codes = {item.code for item in findings if item.cause is None}
    if "reward_constant" in codes or "reward_unreachable" in codes:
        return "no", "No: all completions score the same, so there is no training signal."
    if reasons := ", ".join([item.doubt for item in findings if item.doubt][:MOST_REASONS]):
        worse = held is not None and held.worse_since is not None
        destroyed = worse or "learning_rate_too_high" in codes
        return ("no", f"No: {reasons}.") if destroyed else ("unsure", f"Cannot tell: {reasons}.")
    if held is not None and held.last < held.first:
        low = f"held-out reward is {format_reward(held.last)}, below base ({format_reward(held.first)})"
        return "unsure", f"Cannot tell: {low}."
    if held is not None and held.clear:
        best = f"{format_reward(held.best)} at step {held.best_step}"
        note = f", though less than the {best}" if held.fell else ""
        rise = f"from {format_reward(held.first)} to {format_reward(held.last)}"
        return "yes", f"Yes: held-out reward rose {rise}{note}."
    start, end = format_reward(trend.start), format_reward(trend.end)
    if trend.direction == "up":
        rise = f"training reward rose from {start} to {end}"
        if held is not None:
            return "unsure", f"Perhaps: {rise}, but held-out reward has no clear rise."
        return "unsure", f"Cannot tell: {rise}, but there are no held-out rows to confirm it."
    if trend.direction == "down":
        return "no", f"No: training reward fell from {start} to {end}."
    if trend.end >= NEARLY_ALL:
        return "stuck", f"Little left to learn: the reward is about {end} since the start."
    return "unsure", f"Not yet: the reward stays at about {end}."


def _summary(ordered: Sequence[Observation], state: State, context: Context) -> Observation:
    worst = ordered[0]
    if worst.severity in ("error", "warning"):
        return worst
    if context.stopped and state == "nothing":
        return NO_STEP
    if context.outcome in UNPROVEN:
        return UNPROVEN[context.outcome]
    return {"nothing": WAITING, "early": FINE_SO_FAR}.get(state, FINE)
