"""Checking a reward's source, and sources to start from."""

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
    """Which of the three signatures it has."""
    line: int | None = None
    columns: list[str] = []
    """Columns of the dataset without which it fails on every row, as far as its source shows."""


class RewardProblem(Response):
    message: str
    line: int | None = None
    """From 1."""
    column: int | None = None
    """From 1."""
    field: str | None = None
    """For an invalid grader, the field with the error, such as `graders.exact.input` or `input[0].content`."""
    hint: str | None = None


class RewardCheckResult(Response):
    object: Literal["reward.check"] = "reward.check"
    ok: bool
    entries: list[RewardEntry] = []
    problems: list[RewardProblem] = []
    jail: str | None = None


class RewardParameter(Response):
    """A constant at the top of a reward's source that may be set."""

    name: str
    default: Any
    meaning: str = ""


class RewardTemplate(Response):
    """A ready reward: it runs as it is, and is a source to start from."""

    id: str
    title: str
    group: str = ""
    """Where a list puts it."""
    description: str
    """What it pays for, and when to use it."""
    limits: list[str] = []
    """What it does not see."""
    type: str = "python"
    """What a job file calls it; for others than `python` the source is what stands there under `rewards`, in YAML."""
    source: str
    granularity: Literal["sample", "group", "batch"] = "sample"
    """What one call has to see."""
    isolate: Literal["batch", "sample"] = "batch"
    """`sample`: every completion needs a process of its own."""
    parameters: list[RewardParameter] = []
    columns: list[str] = []
    """Columns of the dataset that it reads as `item.<column>`."""
    optional_columns: list[str] = []
    """Columns that it reads where the dataset has them."""
    example_item: dict[str, Any] = {}
    example_completions: list[str] = []
    """The first scores best."""
