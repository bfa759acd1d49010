"""Results of a job's prompts over all its steps."""

from typing import Literal

from reinforge.schemas.common import Response

PromptCategory = Literal["never_solved", "newly_lost", "won", "most_variable"]
"""Categories of prompts, defined by the endpoint `listJobPrompts`; the first that applies is used."""


class PromptSeries(Response):
    """At most 40 points; each is the mean over successive steps with the prompt."""

    steps: list[int] = []
    """Last step of each point."""
    rewards: list[float] = []


class JobPrompt(Response):
    row_index: int
    prompt_hash: str
    prompt: str | None
    """First 1,000 characters of the prompt's last message or the rendered prompt; null for older workers."""
    answer: str | None
    """The reference answer that the dataset declares, at most 500 characters."""
    category: PromptCategory | None
    draws: int
    completions: int
    scored: int
    """Number of completions with a reward."""
    pass_share: float | None
    """Share of the scored completions that pass."""
    first_pass_share: float | None
    last_pass_share: float | None
    first_reward: float | None
    """Mean reward in the first step with the prompt."""
    last_reward: float | None
    variance: float | None
    """Variance of the mean rewards in steps with the prompt."""
    last_step: int
    last_prompt_no: int
    """Number of the prompt in the last step that sampled it."""
    series: PromptSeries


class JobPromptPage(Response):
    object: Literal["list"] = "list"
    data: list[JobPrompt]
    has_more: bool = False
    next_cursor: str | None = None
    total: int
    """Number of matching prompts."""
    prompts: int
    """Number of prompts in the split."""
    categories: dict[str, int] = {}
    """Category → number of prompts in the split."""
    pass_above: float
    """A completion passes above this reward."""
