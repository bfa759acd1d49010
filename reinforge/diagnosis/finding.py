"""Findings of the diagnosis: what is wrong with a job, since when, the evidence, and remedies."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FindingCode = Literal[
    "all_truncated", "answers_disagree", "domain_interference", "entropy_blow_up", "entropy_collapse",
    "equal_lengths", "format_gaming", "gradient_not_finite", "groups_all_equal", "groups_all_wrong",
    "judge_disagrees", "kl_too_strong", "leakage", "learning_rate_too_high", "learning_rate_too_low", "length_bias",
    "length_collapse", "length_inflation", "no_generalization", "no_repeated_states", "one_sided_groups",
    "past_best", "peak_then_collapse", "policy_gives_up", "ratio_blow_up", "reference_drift", "reward_constant",
    "reward_domination", "reward_failing", "reward_follows_digits", "reward_follows_format",
    "reward_follows_length", "reward_follows_repetition", "reward_hacking", "reward_labels_collapsed",
    "reward_slow", "reward_unreachable", "rubric_saturated", "sampler_mismatch", "signal_stalled",
    "tool_calls_fail", "tools_abandoned", "tools_do_not_help", "truncated", "witness_disagrees", "worse_than_base",
]  # fmt: skip
Severity = Literal["error", "warning", "info"]
RemedyKind = Literal["apply_live", "fork", "stop_and_take"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class EvidenceNumber(_Part):
    name: str
    value: float | None
    unit: str = ""


class EvidenceChart(_Part):
    """A curve that shows the problem."""

    metric: str
    from_step: int
    to_step: int


class EvidenceCompletions(_Part):
    """Completions that show the problem, as in `GET /jobs/{id}/completions`."""

    step: int
    split: Literal["train", "held_out"] = "train"
    sort: str | None = None


class FindingEvidence(_Part):
    numbers: list[EvidenceNumber] = Field(default_factory=list)
    charts: list[EvidenceChart] = Field(default_factory=list)
    completions: EvidenceCompletions | None = None


class Remedy(_Part):
    kind: RemedyKind
    """`apply_live`: `POST /jobs/{id}/changes` for each setting. `fork`: `POST /jobs/{id}/fork` with `step` and `set`.
    `stop_and_take`: cancel the job, and use the checkpoint of `step`.
    """
    label: str
    step: int | None = None
    """Step to fork from (0: the base) or whose checkpoint to take; null with `apply_live`."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Dotted path in the specification → value."""


class JobFinding(_Part):
    code: FindingCode
    severity: Severity
    title: str
    step: int
    """Step at which the problem began."""
    message: str
    why: str
    advice: str | None = None
    evidence: FindingEvidence = Field(default_factory=FindingEvidence)
    remedies: list[Remedy] = Field(default_factory=list)
    cause: FindingCode | None = None
    """Code of the finding that explains this one; an explained finding has no remedies of its own."""
    earliest: int | None = Field(default=None, exclude=True)
    """First step at which the problem may have begun, if only evaluations show it."""
    doubt: str | None = Field(default=None, exclude=True)
    """Why a rising reward proves nothing; part of a sentence."""
