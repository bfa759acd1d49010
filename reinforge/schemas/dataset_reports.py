"""Equal prompts in a dataset, and held-out prompts in training rows."""

from typing import Literal

from reinforge.schemas.common import Response


class RepeatedPrompt(Response):
    """A prompt that several rows share, ignoring white space and case."""

    text: str
    """Prompt of the first row, at most 300 characters."""
    count: int
    rows: list[int]
    """Row numbers from 0, at most the first 10."""


class Duplicates(Response):
    prompts: int
    """Number of prompts that several rows share."""
    rows: int
    """Number of rows that repeat an earlier row's prompt."""
    examples: list[RepeatedPrompt] = []


class Leak(Response):
    kind: Literal["equal", "near"]
    similarity: float
    """Share of three-word sequences in common (1: equal, ignoring white space and case)."""
    held_out_row: int
    train_row: int
    held_out_text: str
    train_text: str


class Leakage(Response):
    source: Literal["split", "dataset"]
    dataset: str
    """Dataset with the held-out rows."""
    name: str
    seed: int | None = None
    split_by: Literal["row", "prompt"] | None = None
    train: int
    held_out: int
    equal: int
    """Number of held-out rows with the prompt of a training row."""
    near: int
    """Number of other held-out rows with a similar training prompt."""
    near_compared: int
    """Number of held-out rows compared with training rows: all, or an even sample."""
    examples: list[Leak] = []


class DatasetOverlap(Response):
    object: Literal["dataset_report"] = "dataset_report"
    dataset: str
    status: Literal["running", "ready"]
    """`running`: no results yet; request the report again."""
    rows: int
    compared: int = 0
    """Number of rows compared: at most the first 2,000,000."""
    without_prompt: int = 0
    """Number of rows that cannot become a prompt."""
    duplicates: Duplicates | None = None
    leakage: Leakage | None = None
    """None if nothing is held out."""
    seconds: float | None = None
    advice: list[str] = []
    """Results and recommendations, in sentences."""
