"""What a pre-flight says, as JSON."""

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
    """An estimate with its ends."""

    low: float
    expected: float
    high: float


class Groups(ReportModel):
    """Shares of groups; they add up to 1. A group without any reward is left out."""

    all_right: float
    """Every completion passes."""
    all_wrong: float
    """None passes."""
    mixed: float
    """Some pass, some do not."""
    useful: float
    """Rewards differ, so that the group teaches something: mixed ones, and others whose reward is graded. With one
    completion per prompt: all of them, if rewards differ over the batch."""


class PassRates(ReportModel):
    """How often the base model passes, over rows."""

    per_group: int
    """Completions per row that this rests on."""
    histogram: list[int]
    """Entry c: rows of which c completions pass."""
    pass_at: dict[int, float]
    """k → probability that at least one of k completions passes (unbiased estimate, mean over rows)."""


class Suggestion(ReportModel):
    field: str
    """Place in the job."""
    value: float
    instead_of: float
    why: str


class PreflightReport(ReportModel):
    verdict: Verdict
    reasons: list[Reason]
    completions: int
    """Sampled and scored for this report."""
    reward_mean: float | None
    reward_std: float | None
    passes: PassRates
    groups: Groups
    useful_batch: float
    """Completions of a step that are expected to teach something."""
    error_share: float
    """Completions whose reward failed."""
    errors: dict[str, int]
    """Status → completions."""
    reward_ms: Range | None
    """Median, mean and 95th percentile of the time inside the rewards per completion, in milliseconds."""
    tokens: Range
    """Per completion: 10th percentile, mean and 95th percentile."""
    truncated_share: float
    duplicate_share: float
    """Completions equal to an earlier one of their group."""
    seconds_per_step: float
    hours: Range
    """Hours of the whole job: as measured, and if every completion grew to the limit."""
    memory_gib: Range
    """Peak of the trainer: as measured, and if every completion grew to the limit."""
    tokens_in_all: Range
    """Completion tokens of the whole job."""
    device: str
    suggestions: list[Suggestion] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    """Worth knowing, whatever the verdict."""
