"""Responses that compare jobs: held-out rewards, settings, curves of metrics, and prompts."""

from typing import Any, Literal, Self

from reinforge.comparison.held_out import Difference
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
    """Whether rewards are compared prompt by prompt, on the same prompts; otherwise the interval is wider."""

    @classmethod
    def of(cls, difference: Difference) -> Self:
        interval = difference.interval
        return cls(
            value=interval.value,
            low=interval.low,
            high=interval.high,
            rows=interval.rows,
            paired=difference.paired,
        )


class ComparedJob(Response):
    id: str
    name: str
    status: JobStatus
    step: int
    """Completed steps."""
    held_out_step: int | None
    """Step of the evaluation that is compared."""
    held_out: HeldOutEstimate | None
    held_out_before: float | None
    """Held-out reward before training."""
    difference: HeldOutDifference | None
    """Held-out reward minus the baseline's; null for the baseline and without scored held-out rows."""
    verdict: str | None
    """`difference` in one sentence; null for the baseline."""
    notes: list[str]
    """Reasons to doubt the comparison, such as another reward or held-out split."""
    completion_tokens: float | None
    """Mean tokens per held-out completion."""
    seconds: float | None
    """Time from the job's first start to its end."""
    worker_seconds: float
    """Worker time that the job was charged for."""
    sampled_tokens: float
    trained_tokens: float
    cost: float | None
    """`worker_seconds` at the price of a GPU hour (`REINFORGE_GPU_HOUR_PRICE`), plus the cost of judges."""


class JobSpread(Response):
    """Mean, minimum and maximum over the jobs of a group that have the value."""

    mean: float
    minimum: float
    maximum: float
    jobs: int


class ComparedGroup(Response):
    """Jobs with the same value of the setting `group`, or that differ only in their seeds."""

    label: str
    value: Any
    """Value of the setting; null for `seeds`."""
    jobs: list[str]
    held_out: JobSpread | None
    held_out_before: JobSpread | None
    difference: HeldOutDifference | None
    """Mean held-out reward of its jobs minus the mean of the baseline's group; the interval
    accounts for the choice of prompts and jobs.
    """
    verdict: str | None
    """`difference` in one sentence; null for the baseline's group."""
    notes: list[str]
    completion_tokens: JobSpread | None
    seconds: JobSpread | None
    sampled_tokens: JobSpread | None
    cost: JobSpread | None


class SettingDifference(Response):
    path: str
    """Dotted path in the resolved specification."""
    values: list[Any]
    """One value per job, in the order of `jobs`; null for a job without the setting."""


class JobComparison(Response):
    object: Literal["job_comparison"] = "job_comparison"
    baseline: str
    at: Moment
    jobs: list[ComparedJob]
    """Jobs in the order of the request."""
    settings: list[SettingDifference]
    """Settings that differ."""
    group: str | None = None
    groups: list[ComparedGroup] = []
    """Groups of the jobs, if `group` was requested; the baseline's is the first."""
    metrics: list[str] = []
    """Keys of the metrics that any job has measured."""


class ComparedCurve(Response):
    """Values of one job, or mean, minimum and maximum over a group's jobs."""

    job: str | None
    """Id of the job; null for a group."""
    group: str | None
    """Label of the group; null for a job."""
    steps: list[int]
    values: list[float | None]
    """Last value in each bucket of steps, or for a group the mean of the jobs' last values; null where
    undefined.
    """
    minima: list[float | None] | None
    maxima: list[float | None] | None
    jobs: list[int] | None
    """Number of the group's jobs with a value in each bucket; null for a job."""


class MetricCurves(Response):
    key: str
    curves: list[ComparedCurve]


class CurveComparison(Response):
    object: Literal["curve_comparison"] = "curve_comparison"
    buckets: int
    data: list[MetricCurves]
    """Metrics in the order of the request."""


class PromptResult(Response):
    """Completions of one prompt in one step of a job."""

    job: str
    step: int
    prompt_no: int
    row_index: int
    completions: int
    reward: float | None
    """Mean over its scored completions."""
    completion_tokens: float | None
    """Mean length of its completions."""


class ComparedPrompt(Response):
    prompt_hash: str
    prompt: str | None
    """First 1,000 characters of the prompt's last message or the rendered prompt; null for older workers."""
    answer: str | None
    """The reference answer that the dataset declares, at most 500 characters."""
    jobs: int
    """Number of jobs with scored completions of the prompt."""
    reward: float
    """Mean reward of these jobs."""
    difference: float
    """Highest minus lowest of the jobs' mean rewards."""
    results: list[PromptResult]
    """One per job, in the order of the request; jobs without the prompt are absent."""


class ComparedPromptPage(Response):
    object: Literal["list"] = "list"
    data: list[ComparedPrompt]
    has_more: bool = False
    next_cursor: str | None = None
    total: int
    """Number of matching prompts that at least two jobs have."""


class ComparedCompletion(Response):
    sample_no: int
    reward: float | None
    length: int
    finish_reason: str
    error: str | None
    text: str
    """First 2,000 characters of the completion."""


class PromptSamples(PromptResult):
    samples: list[ComparedCompletion]


class PromptComparison(Response):
    """Completions of several jobs for one prompt."""

    object: Literal["prompt_comparison"] = "prompt_comparison"
    prompt_hash: str
    prompt: str | None
    answer: str | None
    results: list[PromptSamples]
    """One per job, in the order of the request; jobs without the prompt are absent."""
