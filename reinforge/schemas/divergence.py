"""Where two runs of a job part."""

from typing import Any, Literal

from reinforge.schemas.common import Response

DifferenceKind = Literal[
    "completions",
    "prompt",
    "token",
    "sampler_logprobs",
    "reward",
    "advantage",
    "trainer_logprobs",
    "entropies",
]


class RowDifference(Response):
    """The first completion of a step that differs, in the order in which a step works."""

    step: int
    split: Literal["train", "held_out"]
    what: DifferenceKind
    """`completions`: one side has no such completion."""
    prompt_no: int
    sample_no: int
    token: int | None
    """Index of the first token that differs, or whose number does; null for prompts and rewards."""
    values: list[Any]
    """Of both sides: the token's text, the number, the beginning of the prompt."""
    prompt: str | None
    """End of the first side's prompt, at most 500 characters."""
    before: str | None
    """The completion before `token`, at most 500 characters."""


class MetricDifference(Response):
    step: int
    kind: Literal["train", "held_out"]
    key: str
    values: list[float | None]
    """Of both sides."""
