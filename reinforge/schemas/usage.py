"""Usage and budgets of a project."""

from datetime import date
from typing import ClassVar, Literal

from pydantic import Field

from reinforge.schemas.common import Editable, Request, Response, Timestamp

UsageKind = Literal[
    "device_seconds", "sampled_tokens", "trained_tokens", "judge_spend", "storage_bytes",
    "served_input_tokens", "served_output_tokens",
]  # fmt: skip
"""device_seconds: time of jobs and sampling requests. sampled_tokens: in jobs, evaluations and the
playground. judge_spend: in the judges' currency. storage_bytes: the day's last level; others:
sums over the day.
"""
Period = Literal["day", "month", "total"]
"""Period of a budget, in UTC."""


class UsageDay(Response):
    day: date
    amounts: dict[UsageKind, float]


class UsageSource(Response):
    source: str
    name: str | None = None
    """None if unnamed or deleted."""
    amounts: dict[UsageKind, float]


class BudgetSet(Request):
    kind: UsageKind
    period: Period = "month"
    """`storage_bytes` has only `total`."""
    amount: float = Field(ge=0, allow_inf_nan=False)


class Budget(Editable):
    EDITS: ClassVar = frozenset({"kind", "period", "amount"})

    object: Literal["budget"] = "budget"
    kind: UsageKind
    period: Period
    amount: float
    used: float
    exhausted: bool
    created_at: Timestamp


class ProjectUsage(Response):
    object: Literal["usage"] = "usage"
    first_day: date
    last_day: date
    days: list[UsageDay]
    """One per day, oldest first, without unused kinds."""
    totals: dict[UsageKind, float]
    """Sums over these days; for `storage_bytes` the present level."""
    sources: list[UsageSource]
    """The 20 sources with the largest share of any kind, largest first."""
    budgets: list[Budget]
