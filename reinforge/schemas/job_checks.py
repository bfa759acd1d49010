"""Checks of a job before creation, and data of its form."""

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
    worker_warnings: list[str] = []
    """Entries of `warnings` that only a check with a worker finds."""
    spec: dict[str, Any] | None = None
    """Resolved specification; None if it does not parse."""
    facts: dict[str, Any] = {}
    """Filled once all objects that the job names exist: rows, training_rows, held_out_rows,
    completions_per_step, completions, epochs, longest_prompt_tokens, prompt_limit, jail.
    """


class Preset(Response):
    id: str
    title: str
    family: str
    """baselines, objectives, credit, rewards, selections, agents, recipes; or `own`."""
    package: str | None = None
    """Name and version of its package; None if built in."""
    summary: str
    """What it does, and when to choose it."""
    formula: str
    source: str
    """Paper and equation."""
    confidence: Literal["high", "medium", "low"]
    """Certainty of the formula. `high`: read in the authors' paper; `medium`: combined from accounts of
    others; `low`: partly filled in.
    """
    deviations: list[str]
    learning: str
    """Why the preset hardly learns the demo's task, additions; empty for most."""
    needs: list[str]
    algorithm: dict[str, Any]
    job: dict[str, Any]
    """Other fields of the job that the preset fills in."""
    recipe: dict[str, Any]
    """Published settings, filled in on request only."""
    published_rate: float | None = None
    """The source's learning rate, never filled in."""
    rate_note: str = ""
    single_turn: bool
    """Whether single-turn jobs can run it."""
    reason: str | None = None
    """Why single-turn jobs cannot run it, and what to do."""


class JobForm(Response):
    object: Literal["job.form"] = "job.form"
    json_schema: dict[str, Any]
    presets: list[Preset]
