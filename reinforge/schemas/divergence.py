"""Where two runs of a job part."""

from typing import Any, Literal

from reinforge.schemas.common import Response
from reinforge.schemas.comparison import HeldOutDifference, SettingDifference

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


class Effect(Response):
    """Held-out reward of both jobs at the newest evaluation that they share."""

    step: int
    values: list[float | None]
    difference: HeldOutDifference | None
    """Of the second job from the first, prompt by prompt."""


class Divergence(Response):
    """Where two jobs part; null where nothing of the kind differs."""

    object: Literal["divergence"] = "divergence"
    jobs: list[str]
    steps: int
    """Steps that both have stored completions of."""
    first_step: int | None
    last_step: int | None
    settings: list[SettingDifference]
    machine: dict[str, list[Any]]
    """Versions, engine and machine that differ."""
    metric: MetricDifference | None
    """The first metric that differs, without times and memory."""
    completion: RowDifference | None
    """The first prompt, or the first token of a completion, that differs."""
    reward: RowDifference | None
    """The first equal completion with another reward."""
    effect: Effect | None
    notes: list[str]
