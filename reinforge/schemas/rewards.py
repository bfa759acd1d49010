"""Checking a reward's source, and sources to start from."""

from typing import Any, Literal

from pydantic import Field

from reinforge.schemas.common import Request, Response


class RewardCheck(Request):
    source: str = Field(max_length=262_144)
    entry: str | None = None


class RewardEntry(Response):
    name: str
    spelling: str
    """Which of the three signatures it has."""
    line: int | None = None


class RewardProblem(Response):
    message: str
    line: int | None = None
    """From 1."""
    column: int | None = None
    """From 1."""
    hint: str | None = None


class RewardCheckResult(Response):
    object: Literal["reward.check"] = "reward.check"
    ok: bool
    entries: list[RewardEntry] = []
    problems: list[RewardProblem] = []
    jail: str | None = None


class RewardTemplate(Response):
    """A reward to start from."""

    id: str
    title: str
    description: str
    source: str
    granularity: Literal["sample", "group", "batch"] = "sample"
    """What one call has to see."""
    columns: list[str] = []
    """Columns of the dataset that it reads as `item.<column>`."""
    example_item: dict[str, Any] = {}
    example_completions: list[str] = []
    """The first scores best."""
