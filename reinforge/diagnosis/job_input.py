"""Input of detectors: a job's series and specification, and where it can continue from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from reinforge.diagnosis.curve import recent_mean, trend_of
from reinforge.diagnosis.finding import (
    EvidenceChart,
    EvidenceCompletions,
    EvidenceNumber,
    FindingCode,
    FindingEvidence,
    JobFinding,
    Remedy,
    Severity,
)
from reinforge.diagnosis.formats import format_number
from reinforge.diagnosis.texts import TEXTS
from reinforge.diagnosis.verdict import Points

Series = Mapping[str, Points]
"""Metric key → points with a value. Evaluations measure `held_out/` keys, steps the others."""
READ_KEYS = frozenset(
    {
        "held_out/reward_mean", "held_out/reward_std_error", "held_out/answer_share",
        "held_out/answer_std_error", "groups/zero_variance_share", "groups/all_right_share",
        "groups/all_wrong_share", "groups/equal_length_share", "completions/length_mean",
        "completions/length_right_mean", "completions/length_wrong_mean", "completions/truncated_share",
        "completions/answer_share", "completions/repeated_share", "completions/digit_share",
        "completions/markup_share", "completions/duplicate_share", "entropy/mean", "entropy/coefficient",
        "kl/mean", "policy/clip_high_share", "policy/clip_low_share", "policy/old_kl",
        "optimizer/learning_rate", "optimizer/skipped_updates", "optimizer/grad_norm", "sampler/gap_mean",
        "sampler/effective_share", "advantage/zero_share", "advantage/lone_side_share",
        "advantage/visits_per_state", "time/score", "time/step", "tools/calls_per_rollout",
        "tools/invalid_share", "tools/failure_share",
    }
)  # fmt: skip
RECENT = 5
LEARNING_RATE = "optimizer.learning_rate"
LIVE = frozenset(
    {LEARNING_RATE, "rollout.temperature", "algorithm.loss.kl.beta", "algorithm.shaping.kl.beta"}
)
_CHART_MARGIN = 2


@dataclass(frozen=True)
class JobInput:
    series: Series
    spec: Mapping[str, Any] = field(default_factory=dict)
    """The resolved specification."""
    held_out_rows: int | None = None
    leaked_rows: int | None = None
    training_prompts: int | None = None
    """Different prompts among the training rows."""
    starts: Sequence[int] = ()
    """Steps that a fork can continue from."""
    best_step: int | None = None
    """Step of the best checkpoint by held-out reward, if it is above the base."""
    checkpoints: Sequence[int] = ()
    """Steps whose checkpoint is stored."""
    auto_rate: float | None = None
    """Learning rate that `auto` stands for in this job."""
    ended: bool = False

    def curve(self, key: str) -> Points:
        return self.series.get(key, ())

    def recent(self, key: str) -> float | None:
        return recent_mean(self.curve(key), RECENT)

    def keys(self, prefix: str, suffix: str = "") -> list[str]:
        return sorted(key for key in self.series if key.startswith(prefix) and key.endswith(suffix))

    def setting(self, path: str, default: Any = None) -> Any:
        part: Any = self.spec
        for name in path.split("."):
            part = part.get(name) if isinstance(part, Mapping) else None
            if part is None:
                return default
        return part

    @property
    def kl(self) -> str:
        """Path of the KL term in use: in the reward, else in the loss. Specifications refuse both together."""
        return "algorithm.shaping.kl" if self.setting("algorithm.shaping.kl.beta") else "algorithm.loss.kl"

    def with_kl(self, least: float) -> dict[str, Any]:
        path = f"{self.kl}.beta"
        return {path: max(least, float(self.setting(path, 0.0)))}

    @property
    def steps(self) -> int:
        return len(self.curve("reward/mean"))

    @property
    def passes(self) -> float | None:
        """Mean number of times that a prompt was trained on."""
        if not self.training_prompts:
            return None
        return self.steps * float(self.setting("rollout.prompts_per_step", 16)) / self.training_prompts

    @property
    def last_step(self) -> int:
        return max((points[-1][0] for points in self.series.values() if points), default=0)

    @property
    def reward_rises(self) -> bool:
        trend = trend_of(self.curve("reward/mean"))
        return trend is not None and trend.direction == "up"

    def chance(self, points: int = 1) -> float:
        """Three standard errors of the mean reward over `points` steps, from independent prompts."""
        spread = max((value for _, value in self.curve("reward/std")), default=0.0)
        prompts = self.setting("rollout.prompts_per_step", 16)
        return float(3 * spread / (prompts * points) ** 0.5)

    def finding(
        self,
        code: FindingCode,
        severity: Severity,
        step: int,
        message: str,
        *,
        numbers: Mapping[str, float | None] | None = None,
        unit: str = "",
        charts: Sequence[str] = (),
        completions: bool | EvidenceCompletions = False,
        advice: str | None = None,
        remedies: Sequence[Remedy | None] = (),
        doubt: str | None = None,
        earliest: int | None = None,
    ) -> JobFinding:
        at = EvidenceCompletions(step=max(step, 1)) if completions is True else completions or None
        evidence = FindingEvidence(
            numbers=[
                EvidenceNumber(name=name, value=value, unit=unit) for name, value in (numbers or {}).items()
            ],
            charts=[
                EvidenceChart(
                    metric=key, from_step=max(0, step - _CHART_MARGIN), to_step=self.curve(key)[-1][0]
                )
                for key in charts
                if self.curve(key)
            ],
            completions=at,
        )
        return JobFinding(
            code=code,
            severity=severity,
            title=TEXTS[code].title,
            why=TEXTS[code].why,
            step=step,
            message=message,
            advice=advice,
            evidence=evidence,
            remedies=[remedy for remedy in remedies if remedy is not None],
            doubt=doubt,
            earliest=earliest,
        )

    def start_before(self, step: int) -> int:
        """Newest stored step before a problem began; 0: the base."""
        return max((start for start in self.starts if start < step), default=0)

    def fork(self, step: int, changes: Mapping[str, Any], label: str) -> Remedy:
        start = self.start_before(min(step, self.setting("limits.steps", step)))
        where = f"from step {start}" if start else "from the base"
        return Remedy(kind="fork", label=f"{label}, {where}", step=start, set=dict(changes))

    def from_base(self, changes: Mapping[str, Any], label: str) -> Remedy:
        return Remedy(kind="fork", label=f"{label}, from the base", step=0, set=dict(changes))

    def live(self, path: str, value: float, label: str) -> Remedy | None:
        if self.ended or path not in LIVE or self.setting(path) is None:
            return None
        return Remedy(kind="apply_live", label=f"{label}, now", set={path: value})

    def take_best(self) -> Remedy | None:
        if self.best_step is None:
            return None
        return Remedy(kind="stop_and_take", label=f"Stop and take step {self.best_step}", step=self.best_step)

    def take_right(self) -> Remedy | None:
        """Remedy: the checkpoint with the most right answers, if it has more than the first evaluation.

        For wrong rewards, by which the best step is the worst.
        """
        answers = dict(self.curve("held_out/answer_share"))
        best = max(
            (step for step in self.checkpoints if step in answers), key=answers.__getitem__, default=None
        )
        if best is None or answers[best] <= self.curve("held_out/answer_share")[0][1]:
            return None
        label = f"Stop and take step {best}, which has the most right answers"
        return Remedy(kind="stop_and_take", label=label, step=best)

    @property
    def rate(self) -> float | None:
        curve = self.curve("optimizer/learning_rate")
        value = curve[-1][1] if curve else self.setting(LEARNING_RATE)
        return float(value) if isinstance(value, int | float) and value > 0 else None

    def lower_rate(self) -> float | None:
        """The automatic rate, if at most half of the highest rate used; else a tenth of that."""
        rate = max((value for _, value in self.curve("optimizer/learning_rate")), default=self.rate)
        if rate is None:
            return None
        if self.auto_rate is not None and self.auto_rate <= rate / 2:
            return self.auto_rate
        return float(f"{rate / 10:.2g}")


def level_before(points: Points, step: int) -> float | None:
    """Mean of up to five first values of a curve before `step`; the first value if there are none."""
    values = [value for at, value in points if at < step][:RECENT] or [value for _, value in points[:1]]
    return fmean(values) if values else None


def fall_step(points: Points, bound: float) -> int | None:
    """First step from which values stay below a bound; single exceptions are allowed."""
    values = [value for _, value in points]
    for place, (step, value) in enumerate(points):
        rest = values[place:]
        if value < bound and fmean(rest[:3]) < bound and fmean(rest) < bound:
            return step
    return None


def change_text(before: float, after: float, unit: str = "") -> str:
    return f"from {format_number(before)} to {format_number(after)}{unit and ' ' + unit}"


def is_read(key: str) -> bool:
    in_slice = key.startswith("held_out/slice/") and key.endswith("/reward_mean")
    return key in READ_KEYS or key.startswith("reward/") or in_slice


Detector = Callable[[JobInput], JobFinding | None]
