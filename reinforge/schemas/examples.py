"""Examples that come with the product."""

from typing import Literal

from pydantic import Field

from reinforge.schemas.common import Response


class ExampleResult(Response):
    """Results of the example's job, as measured."""

    base: float
    """Held-out reward of the base model."""
    tuned: float
    """Held-out reward after the last step."""
    parts: dict[str, list[float]] = Field(default_factory=dict)
    """Part of the reward → its held-out mean before and after training."""
    length: list[float] = Field(min_length=2, max_length=2)
    """Mean tokens of a held-out completion before and after training."""
    steps: int
    seconds: float
    """Seconds from job start to adapter."""
    machine: str
    date: str
    commit: str


class ExampleSummary(Response):
    object: Literal["example"] = "example"
    name: str
    """Name of its folder, for example `word-problems`."""
    title: str
    summary: str
    model: str
    preset: str
    steps: int
    rows: int
    held_out_rows: int
    result: ExampleResult | None = None
    job: str | None = None
    """The example's unfinished job in this project."""


class ExampleDetail(ExampleSummary):
    readme: str
    """Markdown."""
    job_file: str
    """YAML."""
    rewards: dict[str, str]
    """File name → Python source."""
