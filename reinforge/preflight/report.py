"""Report of a pre-flight."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["go", "caution", "stop"]


class ReportModel(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Reason(ReportModel):
    """Why the verdict is not `go`, and what to do."""

    code: str
    severity: Literal["caution", "stop"]
    message: str
    hint: str


class Range(ReportModel):
    """An estimate with bounds."""

    low: float
    expected: float
    high: float


class Groups(ReportModel):
    """Shares of groups; groups without any reward are skipped."""

    all_right: float
    """Share of groups in which every completion passes."""
    all_wrong: float
    """Share of groups in which no completion passes."""
    mixed: float
    """Share of groups with passing and failing completions."""
    useful: float
    """Share of groups whose rewards differ, so that training learns from them. With one completion per
    prompt: 1 if rewards differ between prompts, else 0.
    """


class PassRates(ReportModel):
    """How often completions of the base model pass."""

    per_group: int
    """Maximum number of scored completions per row."""
    histogram: list[int]
    """Entry c is the number of rows with c passing completions."""
    pass_at: dict[int, float]
    """k → probability that at least one of k completions passes (unbiased, mean over rows)."""


class Suggestion(ReportModel):
    field: str
    """Dotted path in the job."""
    value: float
    instead_of: float
    why: str


class PreflightReport(ReportModel):
    verdict: Verdict
    reasons: list[Reason]
    completions: int
    """Completions sampled and scored."""
    reward_mean: float | None
    reward_std: float | None
    passes: PassRates
    groups: Groups
    useful_batch: float
    """Expected completions per step in groups whose rewards differ."""
    error_share: float
    """Share of completions whose reward failed."""
    errors: dict[str, int]
    """Number of completions by error status."""
    reward_ms: Range | None
    """Milliseconds to score a completion: median, mean, 95th percentile."""
    tokens: Range
    """Tokens per completion: 10th percentile, mean, 95th percentile."""
    truncated_share: float
    duplicate_share: float
    """Share of completions equal to an earlier one of their group."""
    seconds_per_step: float
    hours: Range
    """Hours of the whole job: `low` as measured, `high` with completions at the token limit."""
    memory_gib: Range
    """Peak memory of the trainer: `low` as measured, `high` with completions at the token limit."""
    tokens_in_all: Range
    """Completion tokens of the whole job."""
    device: str
    suggestions: list[Suggestion] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    """Notes that hold for any verdict."""
