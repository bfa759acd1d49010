"""Checks of a reward's source, and ready-made rewards."""

from typing import Any, Literal

from pydantic import Field

from reinforge.schemas.common import Request, Response


class RewardCheck(Request):
    source: str = Field(max_length=262_144)
    """Python code, or a grader's JSON as text."""
    entry: str | None = None


class RewardEntry(Response):
    name: str
    spelling: str
    """Which of the three signatures the function has."""
    line: int | None = None
    columns: list[str] = []
    """Dataset columns without which it fails on every row, as far as the source shows."""


class RewardProblem(Response):
    message: str
    line: int | None = None
    """Line, from 1; `column` counts likewise."""
    column: int | None = None
    field: str | None = None
    """Invalid field of a grader, such as `graders.exact.input` or `input[0].content`."""
    hint: str | None = None


class RewardCheckResult(Response):
    object: Literal["reward.check"] = "reward.check"
    ok: bool
    entries: list[RewardEntry] = []
    problems: list[RewardProblem] = []
    jail: str | None = None


class RewardParameter(Response):
    name: str
    default: Any
    meaning: str = ""


class RewardTemplate(Response):
    """Ready-made reward, to use or edit."""

    id: str
    title: str
    group: str = ""
    description: str
    """What it rewards, and when to use it."""
    limits: list[str] = []
    type: str = "python"
    """Type in a job file; if not `python`, the source is its YAML under `rewards`."""
    source: str
    granularity: Literal["sample", "group", "batch"] = "sample"
    isolate: Literal["batch", "sample"] = "batch"
    """`sample`: each completion needs its own process."""
    parameters: list[RewardParameter] = []
    columns: list[str] = []
    """Dataset columns that it reads as `item.<column>`."""
    optional_columns: list[str] = []
    example_item: dict[str, Any] = {}
    example_completions: list[str] = []
    """Examples to score; the first scores best."""
