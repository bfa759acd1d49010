"""Checking a job before it is created, and what its form is made from."""

from typing import Any, Literal

from reinforge.schemas.common import Response


class JobProblem(Response):
    param: str | None = None
    """Dotted path into the specification, `rewards[0].weight`."""
    message: str
    code: str | None = None
    hint: str | None = None


class JobCheck(Response):
    object: Literal["job.check"] = "job.check"
    ok: bool
    problems: list[JobProblem] = []
    warnings: list[str] = []
    spec: dict[str, Any] | None = None
    """With every default filled in, and what a worker resolved; None while it does not parse."""
    facts: dict[str, Any] = {}
    """Once everything that it names is there: rows, training_rows, held_out_rows, completions_per_step, completions,
    epochs, longest_prompt_tokens, prompt_limit, jail."""


class Preset(Response):
    id: str
    title: str
    summary: str
    """A paragraph: what it does, when to choose it."""
    source: str
    """Paper and equation."""
    algorithm: dict[str, Any]
    """The whole `algorithm` part that it stands for."""


class JobForm(Response):
    object: Literal["job.form"] = "job.form"
    json_schema: dict[str, Any]
    """JSON Schema of `JobSpec`: every field with type, bounds, default and description."""
    presets: list[Preset]
