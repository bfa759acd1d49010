"""Datasets made of a job's completions."""

from typing import Literal

from pydantic import Field

from reinforge.schemas.common import Request


class TraceSelection(Request):
    """Selection of completions for a dataset: for every prompt, the best first."""

    min_reward: float = Field(allow_inf_nan=False)
    split: Literal["train", "held_out"] = "train"
    """Held-out rows measure the result, but no longer do so after training on their completions."""
    first_step: int = Field(default=0, ge=0, le=2**31 - 1)
    last_step: int | None = Field(default=None, ge=0, le=2**31 - 1)
    per_prompt: int = Field(default=4, ge=1, le=1000)
    """Maximum completions of one prompt; of equal ones only one is taken."""
    truncated: bool = False
    """Include completions that reached the token limit."""
    limit: int = Field(default=10_000, ge=1, le=100_000)
    name: str | None = Field(default=None, min_length=1, max_length=200)
    """Name of the dataset; default: derived from the job's name."""
