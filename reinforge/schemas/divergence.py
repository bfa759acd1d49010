"""Responses about the first differences between two jobs."""

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
    """The first differing completion of a step, in the order of the step's computations."""

    step: int
    split: Literal["train", "held_out"]
    what: DifferenceKind
    """Kind of difference; `completions`: one job has no such completion."""
    prompt_no: int
    sample_no: int
    token: int | None
    """Index of the first token that differs, or whose log-probability or entropy does; else null."""
    values: list[Any]
    """The differing token, number or end of the prompt in each job; for `completions` each job's number."""
    prompt: str | None
    """End of the first job's prompt, at most 500 characters."""
    before: str | None
    """End of the completion's text before `token`, at most 500 characters."""


class MetricDifference(Response):
    step: int
    kind: Literal["train", "held_out"]
    key: str
    values: list[float | None]
    """Value in each job."""


class Effect(Response):
    """Held-out reward of both jobs at the newest evaluation that they share."""

    step: int
    values: list[float | None]
    difference: HeldOutDifference | None
    """Second job minus the first, compared prompt by prompt."""


class Divergence(Response):
    """First differences between two jobs; a field is null if nothing of its kind differs."""

    object: Literal["divergence"] = "divergence"
    jobs: list[str]
    steps: int
    """Number of steps whose completions both jobs have stored."""
    first_step: int | None
    last_step: int | None
    settings: list[SettingDifference]
    machine: dict[str, list[Any]]
    """Versions, engine and machine that differ."""
    metric: MetricDifference | None
    """The first metric that differs, ignoring times and memory."""
    completion: RowDifference | None
    """The first prompt, or the first token of a completion, that differs."""
    reward: RowDifference | None
    """The first completion that is equal in both jobs but has different rewards."""
    effect: Effect | None
    notes: list[str]
