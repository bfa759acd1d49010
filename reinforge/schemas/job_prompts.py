"""How a job's prompts fared over all its steps."""

from typing import Literal

from reinforge.schemas.common import Response

PromptCategory = Literal["never_solved", "newly_lost", "won", "most_variable"]
"""A draw is one prompt in one step with at least one scored completion. It is solved if at least half of
its scored completions pass, and failed if none passes. The last draws are the last two, or the last one
of a prompt with fewer than four draws. A prompt is in the first category that applies:

never_solved: no completion passed in any draw.
newly_lost: an earlier draw was solved, and the last draws failed.
won: the first draw failed, and the last draws are solved.
most_variable: among the other prompts with at least three draws, the tenth with the highest variance.
"""


class PromptSeries(Response):
    """At most 40 points; a point is the mean of successive draws."""

    steps: list[int] = []
    """Last step of each point."""
    rewards: list[float] = []


class JobPrompt(Response):
    row_index: int
    prompt_hash: str
    prompt: str | None
    """First 1,000 characters of the prompt's last message, or of the rendered prompt; null for jobs of older
    workers.
    """
    answer: str | None
    """The reference answer that the dataset declares, at most 500 characters."""
    category: PromptCategory | None
    draws: int
    completions: int
    scored: int
    """Completions with a reward."""
    pass_share: float | None
    """Share of the scored completions that pass."""
    first_pass_share: float | None
    last_pass_share: float | None
    first_reward: float | None
    """Mean reward of the first draw."""
    last_reward: float | None
    variance: float | None
    """Variance of the draws' mean rewards."""
    last_step: int
    last_prompt_no: int
    """Number of the prompt in the last step that drew it."""
    series: PromptSeries


class JobPromptPage(Response):
    object: Literal["list"] = "list"
    data: list[JobPrompt]
    has_more: bool = False
    next_cursor: str | None = None
    total: int
    """Prompts that match."""
    prompts: int
    """Prompts of the split."""
    categories: dict[str, int] = {}
    """Category → prompts of the split."""
    pass_above: float
    """A completion passes above this reward."""
