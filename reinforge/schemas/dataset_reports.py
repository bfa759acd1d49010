"""Equal prompts in a dataset, and held-out prompts that are trained on."""

from typing import Literal

from reinforge.schemas.common import Response


class RepeatedPrompt(Response):
    """A prompt that several rows have, but for white space and capitals."""

    text: str
    """The first row's, at most 300 characters."""
    count: int
    rows: list[int]
    """Row numbers from 0, at most the first 10."""


class Duplicates(Response):
    prompts: int
    """That occur in more than one row."""
    rows: int
    """That repeat an earlier row's prompt."""
    examples: list[RepeatedPrompt] = []
    """The most frequent ones."""


class Leak(Response):
    """A held-out row whose prompt is also trained on."""

    kind: Literal["equal", "near"]
    similarity: float
    """Similarity of three-word sequences, those that both prompts have (1: equal but for white space and capitals)."""
    held_out_row: int
    train_row: int
    held_out_text: str
    train_text: str


class Leakage(Response):
    source: Literal["split", "dataset"]
    dataset: str
    """Where the held-out rows are."""
    name: str
    seed: int | None = None
    split_by: Literal["row", "prompt"] | None = None
    train: int
    held_out: int
    """Rows."""
    equal: int
    """Held-out rows whose prompt is also a training row's."""
    near: int
    """Further held-out rows with a prompt that is nearly a training row's."""
    near_compared: int
    """Held-out rows that near ones were looked for; the longest lists are thinned out evenly."""
    examples: list[Leak] = []


class DatasetOverlap(Response):
    object: Literal["dataset_report"] = "dataset_report"
    dataset: str
    status: Literal["running", "ready"]
    """`running`: ask again; nothing else is known yet."""
    rows: int
    compared: int = 0
    """Rows that were compared: at most the first 2,000,000."""
    without_prompt: int = 0
    """Rows that cannot become a prompt."""
    duplicates: Duplicates | None = None
    leakage: Leakage | None = None
    """None where nothing is held out."""
    seconds: float | None = None
    advice: list[str] = []
    """What was found and what to do, in sentences."""
