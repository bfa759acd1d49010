"""Rules of the training check, by topic, with thresholds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reinforge.diagnosis.curve import mean_of, recent_mean, step_since, trend_of
from reinforge.diagnosis.formats import format_number, format_percent, format_reward
from reinforge.diagnosis.verdict import FEWEST_ROWS, FOLLOWS_LENGTH, IS_LENGTH, Points

Severity = Literal["error", "warning", "success", "info"]
Series = Mapping[str, Points]
"""Metric key → points with a value. Evaluations measure `held_out/` keys, steps the others."""

ENOUGH_STEPS = 5
RECENT = 5
SAME = 1e-6
"""Smaller deviations count as equal rewards."""
MANY_DEAD = 0.5
TRUNCATED = 0.2
REWARD_ERRORS = 0.02
REWARD_ERRORS_BAD = 0.2
GAP = 0.01
CLIPPED = 0.3
NEARLY_ALL = 0.9
ALL_TRUNCATED = 0.9
NEARLY_ALL_TRUNCATED = 0.7
"""Lower, because single steps lie below the mean."""
REWARD = ("held_out/reward_mean", "held_out/reward_std_error")
ANSWERS = ("held_out/answer_share", "held_out/answer_std_error")
KEYS = (
    *REWARD,
    *ANSWERS,
    "reward/mean",
    "reward/std",
    "reward/error_share",
    "reward/length_correlation",
    "optimizer/learning_rate",
    "optimizer/skipped_updates",
    "groups/zero_variance_share",
    "groups/all_right_share",
    "groups/all_wrong_share",
    "entropy/mean",
    "policy/clip_high_share",
    "policy/clip_low_share",
    "sampler/gap_mean",
    "completions/truncated_share",
    "completions/length_mean",
)
PROBLEM_CODES = (
    "length", "answers", "worse", "no-spread", "past-best", "not-carried-over", "solved", "too-hard",
    "entropy-collapse", "entropy-blow-up", "clipped", "gap", "skipped", "reward-errors", "truncated",
    "longer-for-nothing",
)  # fmt: skip


class Observation(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    code: str
    severity: Severity
    """`error`: act now. `warning`: watch it. `success`, `info`: for understanding."""
    title: str
    message: str
    hint: str | None = None
    step: int | None = None
    """Where it began, if known."""
    doubt: str | None = Field(default=None, exclude=True)
    """Why a rising reward proves nothing; part of a sentence."""


@dataclass(frozen=True)
class HeldOutChange:
    first: float
    last: float
    best: float
    best_step: int
    clear: bool
    """It rose beyond chance."""
    fell: bool
    """It fell from its best beyond chance."""
    worse_since: int | None
    """First step of a fall below the first evaluation, if beyond chance."""


def curve_of(series: Series, key: str) -> Points:
    return series.get(key, ())


def held_out_of(series: Series, rows: int | None, keys: tuple[str, str] = REWARD) -> HeldOutChange | None:
    """Change of a held-out mean; None with fewer than two evaluations. keys: mean and standard error."""
    curve, errors = curve_of(series, keys[0]), dict(curve_of(series, keys[1]))
    if len(curve) < 2:
        return None
    (first_step, first), (last_step, last) = curve[0], curve[-1]
    best_step, best = max(curve, key=lambda point: point[1])
    quantile = _quantile(rows)

    def chance(before: int, after: int) -> float:
        """The change between two evaluations that chance explains."""
        error = math.hypot(errors.get(before, 0.0), errors.get(after, 0.0))
        return quantile * error if math.isfinite(quantile) else quantile

    worse_since = None
    if first - last > max(chance(first_step, last_step), 0.01):
        since = step_since(curve, lambda value: value < first)
        worse_since = last_step if since is None else since
    return HeldOutChange(
        first=first,
        last=last,
        best=best,
        best_step=best_step,
        clear=last - first > chance(first_step, last_step),
        fell=best_step > first_step and best - last > max(chance(best_step, last_step), 0.01),
        worse_since=worse_since,
    )


def doubts(series: Series, held: HeldOutChange | None, answers: HeldOutChange | None) -> list[Observation]:
    """What contradicts a rising reward, and the fall that explains later observations."""
    observations: list[Observation] = []

    def add(code: str, title: str, step: int, message: str, hint: str, doubt: str) -> None:
        item = Observation(code=code, severity="error", title=title, message=message, hint=hint, step=step)
        observations.append(item.model_copy(update={"doubt": doubt}))

    lengths = curve_of(series, "reward/length_correlation")
    r = mean_of(lengths) if len(lengths) >= 3 else 0.0
    if r >= (IS_LENGTH if answers is not None and answers.clear else FOLLOWS_LENGTH):
        text = f"Within groups, longer completions get higher rewards (r = {format_reward(r)})."
        hint = "Read some completions: does the reward favor length over the right answer?"
        doubt = f"reward follows length (r = {format_reward(r)})"
        add("length", "Reward follows length", 1, text, hint, doubt)
    if answers is not None and answers.worse_since is not None:
        fall = f"from {format_reward(answers.first)} to {format_reward(answers.last)}"
        hint = "The reward does not measure correct answers: read completions with a high reward."
        text = f"The share of held-out completions that end in the reference answer fell {fall}."
        doubt = f"correct answers fell {fall}"
        add("answers", "Correct answers decreased", answers.worse_since, text, hint, doubt)
    if held is not None and held.worse_since is not None:
        curve, rates = curve_of(series, "reward/mean"), curve_of(series, "optimizer/learning_rate")
        rate = rates[-1][1] if rates else 0.0
        fall = f"from {format_reward(held.first)} to {format_reward(held.last)}"
        text = f"Held-out reward fell {fall} by step {held.worse_since}."
        hint = f"Lower the learning rate: start with a tenth of {format_number(rate)}."
        half = curve[0][1] / 2 if curve else 0.0
        since = step_since(curve, lambda value: value < half)
        step = held.worse_since if since is None else since
        add("worse", "Worse than base", step, text, hint, f"held-out reward fell below base, {fall}")
    return observations


def rewards(series: Series, held: HeldOutChange | None) -> list[Observation]:
    observations: list[Observation] = []
    mean, spread = curve_of(series, "reward/mean"), curve_of(series, "reward/std")
    trend = trend_of(mean)
    recent_spread = recent_mean(spread, RECENT)
    if len(spread) >= ENOUGH_STEPS and recent_spread is not None and recent_spread < SAME:
        value = format_reward(recent_mean(mean) or 0)
        observations.append(
            Observation(
                code="no-spread",
                severity="error",
                title="All completions score the same",
                message=f"All recent rewards are {value}: no completion is better than another.",
                hint="Read some completions: does the reward check the right part? Partial credit adds a signal.",
            )
        )
    if held is None:
        return observations
    first, last = format_reward(held.first), format_reward(held.last)
    if held.clear:
        text = f"From {first} to {last} on rows that are not used for training."
        observations.append(
            Observation(code="held-out", severity="success", title="Held-out reward rose", message=text)
        )
    if held.fell and held.worse_since is None:
        best = f"{format_reward(held.best)} at step {held.best_step}"
        observations.append(
            Observation(
                code="past-best",
                severity="warning",
                title="Past the best checkpoint",
                message=f"Held-out reward was {best} and is {last} now.",
                hint=f"Use the checkpoint of step {held.best_step}. "
                "Next time, use fewer steps or a lower learning rate.",
            )
        )
    elif trend is not None and trend.direction == "up" and not held.clear:
        rise = f"from {format_reward(trend.start)} to {format_reward(trend.end)}"
        text = f"Training reward went {rise}; held-out from {first} to {last}, which is not significant."
        observations.append(
            Observation(
                code="not-carried-over",
                severity="warning",
                title="No gain on held-out rows",
                message=text,
                hint="Read completions with a high reward: does the reward measure what you want? "
                "More varied rows also help.",
            )
        )
    return observations


def groups(series: Series) -> list[Observation]:
    dead = curve_of(series, "groups/zero_variance_share")
    share = recent_mean(dead, RECENT)
    if share is None or share <= MANY_DEAD:
        return []
    right = recent_mean(curve_of(series, "groups/all_right_share"), RECENT) or 0
    wrong = recent_mean(curve_of(series, "groups/all_wrong_share"), RECENT) or 0
    start = step_since(dead, lambda value: value > MANY_DEAD * 0.8)
    when = "in the last steps" if start is None else f"since step {start}"
    if right >= wrong:
        text = f"{format_percent(right)} of groups have equal rewards above 0 {when} and no training signal."
        return [
            Observation(
                code="solved",
                severity="warning",
                title="Most groups have equal rewards",
                message=text,
                hint="If these completions are correct, use harder rows or stop; if not, the reward is too coarse.",
            )
        ]
    text = (
        f"{format_percent(wrong)} of groups have equal rewards of 0 or below {when} and no training signal."
    )
    return [
        Observation(
            code="too-hard",
            severity="error",
            title="Most groups score 0",
            message=text,
            hint="Use easier rows, a reward with partial credit, more completions per prompt or more tokens per "
            "completion.",
        )
    ]


def policy(series: Series) -> list[Observation]:
    return [*_entropy(series), *_updates(series)]


def _entropy(series: Series) -> list[Observation]:
    trend = trend_of(curve_of(series, "entropy/mean"))
    if trend is None:
        return []
    change = f"from {format_number(trend.start)} to {format_number(trend.end)} nat"
    score = recent_mean(curve_of(series, "reward/mean"), RECENT) or 0
    if trend.start > 0 and trend.end < 0.15 * trend.start and score < NEARLY_ALL:
        return [
            Observation(
                code="entropy-collapse",
                severity="error",
                title="The policy stopped exploring",
                message=f"Entropy fell {change} while the reward is only {format_reward(score)}.",
                hint="Lower the learning rate, add a KL weight (algorithm.loss.kl.beta) or raise the upper clip bound.",
            )
        ]
    if trend.direction == "down":
        text = f"Entropy fell {change} per token, as expected while the reward rises."
        return [
            Observation(code="entropy", severity="info", title="Less exploration, as expected", message=text)
        ]
    if trend.direction == "up" and trend.end > 2 * trend.start:
        return [
            Observation(
                code="entropy-blow-up",
                severity="warning",
                title="Entropy rises",
                message=f"Entropy rose {change} per token.",
                hint="The learning rate is probably too high.",
            )
        ]
    return []


def _updates(series: Series) -> list[Observation]:
    observations: list[Observation] = []
    clipped = max(
        recent_mean(curve_of(series, "policy/clip_high_share"), RECENT) or 0,
        recent_mean(curve_of(series, "policy/clip_low_share"), RECENT) or 0,
    )
    if clipped > CLIPPED:
        observations.append(
            Observation(
                code="clipped",
                severity="warning",
                title="Updates are too large",
                message=f"{format_percent(clipped)} of tokens are clipped.",
                hint="Lower the learning rate or the number of updates per step.",
            )
        )
    gap = recent_mean(curve_of(series, "sampler/gap_mean"), RECENT) or 0
    if gap > GAP:
        text = f"Their log-probabilities differ by {format_number(gap)} nat per token; below {GAP} is normal."
        observations.append(
            Observation(
                code="gap",
                severity="error",
                title="Sampler and trainer disagree",
                message=text,
                hint="This is a precision or engine problem: report it and do not rely on this run.",
            )
        )
    skipped = curve_of(series, "optimizer/skipped_updates")
    if skipped and skipped[-1][1] > 0:
        observations.append(
            Observation(
                code="skipped",
                severity="warning",
                title="Skipped updates",
                message=f"{format_number(skipped[-1][1])} so far: the gradient was not finite.",
                hint="Lower the learning rate or change the precision.",
            )
        )
    return observations


def completions(series: Series) -> list[Observation]:
    observations: list[Observation] = []
    errors = recent_mean(curve_of(series, "reward/error_share"), RECENT) or 0
    if errors > REWARD_ERRORS:
        observations.append(
            Observation(
                code="reward-errors",
                severity="error" if errors > REWARD_ERRORS_BAD else "warning",
                title="Reward errors",
                message=f"{format_percent(errors)} of completions have no reward because of an error.",
                hint="The messages are shown with the completions. Fix the reward and start a new job.",
            )
        )
    truncated = curve_of(series, "completions/truncated_share")
    share = recent_mean(truncated, RECENT) or 0
    if share > TRUNCATED:
        nearly_all = share >= ALL_TRUNCATED
        bound = NEARLY_ALL_TRUNCATED if nearly_all else TRUNCATED
        text = f"{format_percent(share)} of completions hit the token limit"
        observations.append(
            Observation(
                code="truncated",
                severity="error",
                title="Truncated completions",
                message=f"{text}.",
                hint="Raise rollout.max_completion_tokens or reward shorter answers.",
                step=step_since(truncated, lambda value: value > bound),
                doubt=text if nearly_all else None,
            )
        )
    length, trend = (
        trend_of(curve_of(series, "completions/length_mean")),
        trend_of(curve_of(series, "reward/mean")),
    )
    if length and length.end > 1.5 * length.start and trend and trend.direction != "up":
        change = f"from {format_number(length.start)} to {format_number(length.end)} tokens"
        observations.append(
            Observation(
                code="longer-for-nothing",
                severity="warning",
                title="Longer but not better",
                message=f"Completions went {change}; the reward did not rise.",
                hint="Read some completions: the reward may favor length.",
            )
        )
    return observations


def _quantile(rows: int | None) -> float:
    """Standard errors that a change needs to exceed chance; infinite with too few rows."""
    if rows is None:
        return 2.0
    if rows < FEWEST_ROWS:
        return math.inf
    degrees = rows - 1
    return 1.96 + 2.4 / degrees + 3 / degrees**2
