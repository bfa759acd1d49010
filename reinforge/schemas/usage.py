"""What a project has used, and its budgets."""

from datetime import date
from typing import ClassVar, Literal

from pydantic import Field

from reinforge.schemas.common import Editable, Request, Response, Timestamp

UsageKind = Literal[
    "device_seconds", "sampled_tokens", "trained_tokens", "judge_spend", "storage_bytes",
    "served_input_tokens", "served_output_tokens",
]  # fmt: skip
"""device_seconds: that workers held jobs, by device, and were busy with requests to sample. sampled_tokens: of jobs,
evaluations and the playground. judge_spend: in the currency of the judges' prices, wherever they were asked.
storage_bytes is a level, the day's last; the others are sums over the day."""
Period = Literal["day", "month", "total"]
"""In UTC."""


class UsageDay(Response):
    day: date
    amounts: dict[UsageKind, float]


class UsageSource(Response):
    """A job, deployment, evaluation, reward, checkpoint or base model, and what it used within the days asked for."""

    source: str
    """Its id."""
    name: str | None = None
    """None where it has none, and when it is gone."""
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
    """One for each day, oldest first; kinds that were not used are left out."""
    totals: dict[UsageKind, float]
    """Over these days; of `storage_bytes` what is stored now."""
    sources: list[UsageSource]
    """At most 20: those with the largest share of what was used of any kind, that share first."""
    budgets: list[Budget]
