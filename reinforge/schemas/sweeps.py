"""Sweeps, their trials and results."""

from typing import Any, Literal

from reinforge.schemas.common import Response, Timestamp
from reinforge.schemas.job_checks import JobProblem
from reinforge.schemas.jobs import JobError
from reinforge.sweeps.spec import Method, Objective, SweepSpec

SweepStatus = Literal["running", "cancelling", "succeeded", "failed", "cancelled"]
TrialStatus = Literal[
    "pending", "refused", "skipped", "deleted", "validating", "queued", "starting", "running", "pausing", "paused",
    "cancelling", "succeeded", "failed", "cancelled",
]  # fmt: skip
"""A job's status, or why there is no job: `pending` (not submitted yet), `refused`, `skipped` (the sweep
ended before), `deleted`.
"""
EndReason = Literal["halving", "budget", "sweep_cancelled"]


class SweepTrial(Response):
    """One job of a sweep."""

    number: int
    setting: int
    """Number of the setting, equal for trials that differ only in their seed."""
    name: str
    parameters: dict[str, Any]
    seed: int | None
    job: str | None
    status: TrialStatus
    ended_by: EndReason | None
    """Why the sweep ended the job early."""
    error: JobError | None
    """Why the trial was refused, or why its job failed."""
    objective: float | None
    """Held-out reward of the newest or the best evaluation after training began."""
    objective_step: int | None
    evaluations: int
    """Number of evaluations after training began."""
    step: int
    steps: int
    seconds: float
    """Worker time of the job."""
    cost: float | None
    adapter: str | None


class SweepSetting(Response):
    """Trials that differ only in their seed."""

    setting: int
    name: str
    parameters: dict[str, Any]
    trials: list[int]
    objective: float | None
    """Mean objective over its trials that have one."""
    low: float | None
    high: float | None
    measured: int
    """Number of trials with an objective."""


class SweepBest(Response):
    """The best job of the setting with the best mean objective."""

    setting: int
    trial: int
    job: str | None
    objective: float
    step: int
    adapter: str | None


class ParameterImportance(Response):
    method: str
    shares: dict[str, float]
    """Dotted path → share of the objective's variance that the path's values explain, adjusted for the number
    of values; largest first.
    """
    trials: int


class Sweep(Response):
    object: Literal["sweep"] = "sweep"
    id: str
    name: str
    project: str
    status: SweepStatus
    reason: str | None
    """Why it ended: `budget_jobs`, `budget_seconds`, `budget_money`, `first_trials_failed`."""
    notice: str | None
    """Why no trial can be submitted at the moment."""
    method: Method
    objective: Objective
    varied: list[str]
    """Dotted paths that differ between trials."""
    planned: int
    """Number of trials, unless the sweep ends early."""
    counts: dict[str, int]
    """Status of trials → their number."""
    best: SweepBest | None
    warnings: list[str]
    created_at: Timestamp
    finished_at: Timestamp | None
    created_by: str | None


class SweepDetail(Sweep):
    spec: SweepSpec
    trials: list[SweepTrial]
    settings: list[SweepSetting]
    """Settings, the best first; those without an objective last."""
    importance: ParameterImportance | None
    importance_note: str | None
    """Why `importance` is null."""
    seconds: float
    cost: float | None


class PlannedTrial(Response):
    """A job that a sweep would have."""

    number: int
    setting: int
    name: str
    parameters: dict[str, Any]
    seed: int | None


class SweepCheck(Response):
    object: Literal["sweep.check"] = "sweep.check"
    ok: bool
    problems: list[JobProblem] = []
    """`param` names a field of the sweep: `parameters.adapter.rank`, `job.limits.steps`."""
    warnings: list[str] = []
    planned: int | None = None
    """Number of jobs, unless the sweep ends early; None if the sweep does not parse."""
    varied: list[str] = []
    """Dotted paths that differ between trials."""
    trials: list[PlannedTrial] = []
    """The first jobs, as far as they do not depend on results; empty if there are problems."""
