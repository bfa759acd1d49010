"""Comparison of jobs."""

from typing import Any, Literal

from reinforge.schemas.common import Response
from reinforge.states import JobStatus

Moment = Literal["last", "best"]


class HeldOutEstimate(Response):
    """Mean over held-out prompts with a 95 % bootstrap interval."""

    value: float
    low: float
    high: float
    rows: int


class HeldOutDifference(HeldOutEstimate):
    """A job's held-out reward minus the baseline's."""

    paired: bool
    """Compared prompt by prompt on the same prompts; otherwise the interval is wider."""


class ComparedJob(Response):
    id: str
    name: str
    status: JobStatus
    step: int
    """Completed steps."""
    held_out_step: int | None
    """The evaluation that is compared."""
    held_out: HeldOutEstimate | None
    held_out_before: float | None
    """Held-out reward before training."""
    difference: HeldOutDifference | None
    """Change from the baseline; null for the baseline and without scored held-out rows."""
    verdict: str | None
    """`difference` in one sentence; null for the baseline."""
    notes: list[str]
    """What makes the comparison doubtful: another reward, another held-out split."""
    completion_tokens: float | None
    """Mean tokens per held-out completion."""
    seconds: float | None
    """From its first start to its end."""
    worker_seconds: float
    """Seconds of workers' time that it was charged for."""
    sampled_tokens: float
    trained_tokens: float
    cost: float | None
    """`worker_seconds` at the price of a GPU hour (`REINFORGE_GPU_HOUR_PRICE`), and what its judges cost."""


class SettingDifference(Response):
    path: str
    """Dotted path in the resolved specification."""
    values: list[Any]
    """In the order of `jobs`; null where a job does not have the setting."""


class JobComparison(Response):
    object: Literal["job_comparison"] = "job_comparison"
    baseline: str
    at: Moment
    jobs: list[ComparedJob]
    """In the order of the request."""
    settings: list[SettingDifference]
    """Settings that differ."""
