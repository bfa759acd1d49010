"""Prompts of a dataset: roles, rendering, lengths, split."""

from typing import Any, Literal

from pydantic import Field

from reinforge.dataset.columns import ColumnRoles
from reinforge.schemas.common import Request, Response


class PromptView(Request):
    """How rows become prompts: the fields of a job's `data`."""

    columns: ColumnRoles = ColumnRoles()
    prompt_template: str | None = Field(default=None, min_length=1, max_length=65_536)
    system_prompt: str | None = Field(default=None, max_length=65_536)


class DatasetFault(Response):
    code: str
    message: str
    line: int | None = None
    """Line in the uploaded file, from 1."""
    column: int | None = None


class SkippedRows(Response):
    """Invalid rows of the uploaded file that were skipped."""

    rows: int
    lines: list[int]
    """First line of each of these rows in the file, at most 1,000; for Parquet the row numbers."""
    faults: list[DatasetFault]
    """The first 20 faults."""
    sha256: str
    """SHA-256 of the uploaded file."""


class DatasetUpdate(Request):
    """Omitted fields are kept."""

    name: str | None = Field(default=None, min_length=1, max_length=200)
    prompt_view: PromptView | None = None
    """Default of new jobs on this dataset."""


class RenderRequest(PromptView):
    model: str = Field(min_length=1, max_length=200)
    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=10, ge=1, le=50)


class RenderedPrompt(Response):
    index: int
    """Row number from 0."""
    messages: list[dict[str, Any]] = []
    text: str | None = None
    """Prompt as the model reads it; None if the row cannot be rendered."""
    tokens: int | None = None
    answer: str | None = None
    slice: str | None = None
    error: str | None = None


class RenderedPrompts(Response):
    object: Literal["list"] = "list"
    data: list[RenderedPrompt]
    offset: int
    total: int
    context_length: int | None = None
    """Maximum tokens of the model."""


class LengthsRequest(PromptView):
    model: str = Field(min_length=1, max_length=200)
    max_rows: int = Field(default=2000, ge=1, le=10_000)
    """Maximum rows to measure; larger datasets are sampled evenly."""


class LengthBin(Response):
    low: int
    high: int
    """Upper bound on tokens; both `low` and `high` belong to the bin."""
    count: int


class TokenLengths(Response):
    object: Literal["token_lengths"] = "token_lengths"
    counted: int
    """Measured rows: all, or an even sample."""
    total: int
    failed: int = 0
    """Sampled rows that cannot become a prompt."""
    min: int
    median: int
    p90: int
    max: int
    longest_row: int
    """Number, from 0, of the longest measured row."""
    bins: list[LengthBin]
    context_length: int | None = None


class SplitView(Response):
    object: Literal["split"] = "split"
    seed: int
    train: int
    held_out: int
    held_out_rows: list[int]
    """Row numbers from 0, ascending, at most the first 1,000."""
    note: str | None = None
