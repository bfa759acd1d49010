"""Training check: rules over all curves, at any time; `verdict` judges ended jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reinforge.diagnosis import training_rules as rules
from reinforge.diagnosis.curve import recent_mean, trend_of
from reinforge.diagnosis.formats import format_reward
from reinforge.diagnosis.training_rules import (
    ENOUGH_STEPS,
    HeldOutChange,
    Observation,
    Series,
    curve_of,
    held_out_of,
)
from reinforge.diagnosis.verdict import Outcome

State = Literal["nothing", "early", "yes", "unsure", "no", "stuck"]

PRAISE = frozenset({"held-out", "solved", "entropy"})
"""Reported only if nothing contradicts that the job learns."""
_ORDER = {"error": 0, "warning": 1, "success": 2, "info": 3}
_NO_STEP = 1e9

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
"""Summary of an ended job without problems and without proven learning."""


class TrainingCheck(BaseModel):
    """Whether a job is training, with evidence and advice."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    state: State
    """`nothing`: no step yet. `early`: too few steps. `yes`, `no`, `unsure`. `stuck`: little is left
    to learn.
    """
    message: str
    summary: Observation
    """The worst problem, or that there is none."""
    observations: list[Observation] = Field(default_factory=list)


@dataclass(frozen=True)
class Context:
    rows: int | None = None
    outcome: Outcome | None = None
    stopped: bool = False
    """The job has ended or paused."""


def check_training(series: Series, context: Context | None = None) -> TrainingCheck:
    """series: metric key → points with a value, by step."""
    context = context or Context()
    held = held_out_of(series, context.rows)
    observations = _observe(series, held, context)
    state, message = _answer(series, held, observations)
    ordered = sorted([*observations, LOSS], key=lambda item: _ORDER[item.severity])
    return TrainingCheck(
        state=state, message=message, summary=_summary(ordered, state, context), observations=ordered
    )


def _observe(series: Series, held: HeldOutChange | None, context: Context) -> list[Observation]:
    answers = held_out_of(series, context.rows, rules.ANSWERS)
    doubts = rules.doubts(series, held, answers)
    broken_since = next((item.step for item in doubts if item.code == "worse"), None)
    basic = [*doubts, *rules.completions(series)]
    early = len(curve_of(series, "reward/mean")) < ENOUGH_STEPS
    more = [] if early else [*rules.rewards(series, held), *rules.groups(series), *rules.policy(series)]
    praised = context.outcome in (None, "learned") and not any(item.doubt for item in basic)
    reported = [item for item in [*basic, *more] if praised or item.code not in PRAISE]
    # What began after the policy broke follows from that: it has no advice of its own.
    advised = [
        item
        if broken_since is None or item.code == "worse" or _begin(item) <= 1
        else item.model_copy(update={"hint": None})
        for item in reported
    ]
    return sorted(advised, key=_begin)


def _begin(item: Observation) -> float:
    if item.code == "worse":
        return 1.5  # behind what was wrong from the first step on
    return _NO_STEP if item.step is None else item.step


def _answer(
    series: Series, held: HeldOutChange | None, observations: Sequence[Observation]
) -> tuple[State, str]:
    curve = curve_of(series, "reward/mean")
    trend = trend_of(curve)
    if not curve:
        return "nothing", "No data yet."
    if len(curve) < ENOUGH_STEPS or trend is None:
        return "early", f"Too early to say: the first {ENOUGH_STEPS} steps are not enough."
    if reasons := ", ".join(item.doubt for item in observations if item.doubt):
        worse = held is not None and held.worse_since is not None
        return ("no", f"No: {reasons}.") if worse else ("unsure", f"Cannot tell: {reasons}.")
    if held is not None and held.last < held.first:
        low = f"held-out reward is {format_reward(held.last)}, below base ({format_reward(held.first)})"
        return "unsure", f"Cannot tell: {low}."
    constant = all(value < rules.SAME for _, value in curve_of(series, "reward/std"))
    recent = recent_mean(curve, rules.RECENT) or 0
    if any(item.code == "no-spread" for item in observations) and (constant or recent < rules.NEARLY_ALL):
        return "no", "No: all completions score the same, so there is no training signal."
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
    if trend.end >= rules.NEARLY_ALL:
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
