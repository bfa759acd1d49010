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
    family: str
    """What it changes: baselines, objectives, credit, rewards, selections, agents, recipes; or `own`."""
    package: str | None = None
    """Name and version of the installed package that it comes from; None for a built-in one."""
    summary: str
    """A paragraph: what it does, when to choose it."""
    formula: str
    """What is special about it, in one line of text."""
    source: str
    """Paper and equation."""
    confidence: Literal["high", "medium", "low"]
    """That the formula is the authors': read there, put together from accounts, or partly filled in."""
    deviations: list[str]
    """Where it differs from its source, or fills a gap in it."""
    learning: str
    """Why it hardly learns the demo's additions; empty for most."""
    needs: list[str]
    """What a job must bring."""
    algorithm: dict[str, Any]
    """The whole `algorithm` part that it stands for."""
    job: dict[str, Any]
    """Parts of the job outside the algorithm that it fills as well."""
    recipe: dict[str, Any]
    """Parts of a job as published; filled in on request only."""
    published_rate: float | None = None
    """The learning rate of the source, which is never filled in."""
    rate_note: str = ""
    """What to know about that rate; empty where there is none."""
    single_turn: bool
    """Whether a job with one completion per prompt can run it."""
    reason: str | None = None
    """Why not, and what to do."""


class JobForm(Response):
    object: Literal["job.form"] = "job.form"
    json_schema: dict[str, Any]
    """JSON Schema of `JobSpec`: every field with type, bounds, default and description."""
    presets: list[Preset]
