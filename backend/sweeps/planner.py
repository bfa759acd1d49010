"""Plan of a sweep's next actions: a pure function of its specification and its trials."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reinforge.schemas.sweeps import EndReason, SweepStatus
from reinforge.states import FINAL
from reinforge.sweeps import SweepSpec, Variation
from reinforge.sweeps.variations import number_of_trials

FAILURES = 3
WITHOUT_JOB = frozenset({"refused", "skipped", "deleted"})
ENDED = frozenset({str(status) for status in FINAL}) | WITHOUT_JOB

NextSetting = Callable[[int], tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class TrialRecord:
    number: int
    setting: int
    name: str
    parameters: dict[str, Any]
    status: str
    ended_by: str | None = None
    rewards: Sequence[float | None] = ()
    steps: Sequence[int] = ()
    seconds: float = 0.0
    cost: float | None = None

    @property
    def is_open(self) -> bool:
        return self.status not in ENDED


@dataclass(frozen=True)
class Plan:
    new: list[Variation] = field(default_factory=list)
    end: dict[int, EndReason] = field(default_factory=dict)
    skip: list[int] = field(default_factory=list)
    status: SweepStatus | None = None
    reason: str | None = None


def plan(spec: SweepSpec, status: str, trials: Sequence[TrialRecord], next_setting: NextSetting) -> Plan:
    """Applying the actions a second time has no effect."""
    spent = spent_budget(spec, trials)
    end_reason: EndReason | None = (
        "sweep_cancelled" if status == "cancelling" else "budget" if spent else None
    )
    hopeless = _failures(trials) >= FAILURES and not any(trial.rewards for trial in trials)
    stopping = end_reason is not None or hopeless
    skip = [trial.number for trial in trials if trial.status == "pending"] if stopping else []
    if end_reason is not None:
        end = {trial.number: end_reason for trial in trials if _can_end(trial)}
    else:
        end = dict.fromkeys(_halved(spec, trials), "halving")
    new = [] if stopping else _new(spec, trials, next_setting)
    is_over = not new and not any(trial.is_open and trial.number not in skip for trial in trials)
    if not is_over:
        return Plan(new, end, skip)
    if status == "cancelling":
        return Plan(skip=skip, status="cancelled")
    reason = spent or ("first_trials_failed" if hopeless else None)
    if reason is None and len(trials) < number_of_trials(spec):
        reason = "budget_jobs"
    useful = any(trial.status in ("succeeded", "cancelled", "deleted") or trial.rewards for trial in trials)
    return Plan(skip=skip, status="succeeded" if useful else "failed", reason=reason)


def spent_budget(spec: SweepSpec, trials: Sequence[TrialRecord]) -> str | None:
    budget = spec.budget
    if budget.seconds is not None and sum(trial.seconds for trial in trials) >= budget.seconds:
        return "budget_seconds"
    if budget.money is not None and sum(trial.cost or 0.0 for trial in trials) >= budget.money:
        return "budget_money"
    return None


def _failures(trials: Sequence[TrialRecord]) -> int:
    return sum(trial.status in ("failed", "refused") for trial in trials)


def _can_end(trial: TrialRecord) -> bool:
    return trial.is_open and trial.ended_by is None and trial.status not in ("pending", "cancelling")


def _new(spec: SweepSpec, trials: Sequence[TrialRecord], next_setting: NextSetting) -> list[Variation]:
    limit = number_of_trials(spec)
    if spec.budget.jobs is not None:
        limit = min(limit, spec.budget.jobs)
    places = spec.parallel - sum(trial.is_open and trial.status != "paused" for trial in trials)
    seeds = spec.seed_values
    settings = {trial.setting: (trial.name, trial.parameters) for trial in trials}
    new: list[Variation] = []
    for number in range(len(trials), min(limit, len(trials) + max(places, 0))):
        setting = number // len(seeds)
        if setting not in settings:
            settings[setting] = next_setting(setting)
        name, parameters = settings[setting]
        new.append(Variation(number, setting, name, parameters, seeds[number % len(seeds)]))
    return new


def _halved(spec: SweepSpec, trials: Sequence[TrialRecord]) -> list[int]:
    """Numbers of the running trials that are not among the best 1/factor at their newest comparison."""
    halving = spec.halving
    if halving is None:
        return []
    numbers = []
    for trial in trials:
        if not _can_end(trial) or len(trial.rewards) < halving.first:
            continue
        comparison = halving.first
        while comparison * halving.factor <= len(trial.rewards):
            comparison *= halving.factor
        rewards = sorted(
            (_reward_at(spec, other, comparison) for other in trials if len(other.rewards) >= comparison),
            reverse=True,
        )
        if len(rewards) < halving.factor:
            continue
        worst_continuing = rewards[math.ceil(len(rewards) / halving.factor) - 1]
        if _reward_at(spec, trial, comparison) < worst_continuing:
            numbers.append(trial.number)
    return numbers


def _reward_at(spec: SweepSpec, trial: TrialRecord, evaluations: int) -> float:
    reward, _ = objective(spec, trial, evaluations)
    return -math.inf if reward is None else reward


def objective(
    spec: SweepSpec, trial: TrialRecord, evaluations: int | None = None
) -> tuple[float | None, int | None]:
    measured = [
        (reward, step)
        for reward, step in zip(trial.rewards[:evaluations], trial.steps[:evaluations], strict=True)
        if reward is not None
    ]
    if not measured:
        return None, None
    return max(measured, key=lambda point: point[0]) if spec.objective == "best" else measured[-1]
