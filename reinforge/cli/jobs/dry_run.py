"""`reinforge job create --dry-run`: checks a job and estimates its size and time."""

from pathlib import Path
from typing import Any

import typer

from reinforge.cli import output
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.defaults import time_text
from reinforge.cli.output import err, out
from reinforge.client import Reinforge
from reinforge.client.shared import document
from reinforge.errors import NotFound
from reinforge.job_defaults.fields import SIZE_FIELDS, completed, stated
from reinforge.schemas.job_checks import JobCheck
from reinforge.spec import JobSpec


def run(client: Reinforge, spec: JobSpec, *, file: Path, json: bool) -> None:
    """Check a job and print its estimated size and time. Exits with 2 if the server would refuse the job."""
    check = client.jobs.check(spec)
    figures, time = estimate(client, check), None
    if check.ok and check.spec is not None:
        # With the server's defaults, which the job would get, in place of suggested values.
        values = {path: stated(check.spec, path) for path in SIZE_FIELDS}
        time = client.jobs.defaults(completed(document(spec), values))
    if json:
        seconds = time.estimate.model_dump(mode="json") if time and time.estimate else None
        output.print_json({"check": check.model_dump(mode="json"), "estimate": figures, "time": seconds})
    else:
        _show(check, figures)
        if time is not None:
            _line("time", time_text(time))
            err.print(f"No job was created. To measure: reinforge preflight {file} --server", markup=False)
    if not check.ok:
        raise typer.Exit(Exit.USAGE)


def estimate(client: Reinforge, check: JobCheck) -> dict[str, Any]:
    """Upper bounds of the job's size, and the memory to train its model; {} if the check failed."""
    if not check.ok or check.spec is None or not check.facts:
        return {}
    spec = JobSpec.model_validate(check.spec)
    try:
        memory = client.models.get(spec.model).memory
    except NotFound:  # a built-in model that no worker has looked at yet
        memory = None
    completions = check.facts["completions"]
    return {
        "steps": spec.limits.steps,
        "prompts": spec.limits.steps * spec.rollout.prompts_per_step,
        "completions": completions,
        "completion_tokens_at_most": completions * spec.rollout.max_completion_tokens,
        "seconds_at_most": spec.limits.max_seconds,
        "memory_bytes": memory.train if memory else None,
    }


def _show(check: JobCheck, figures: dict[str, Any]) -> None:
    for problem in check.problems:
        where = f" ({problem.param})" if problem.param else ""
        err.print(f"error {problem.message}{where}", style="red", markup=False, soft_wrap=True)
        if problem.hint:
            err.print(f"hint  {problem.hint}", style="dim", markup=False, soft_wrap=True)
    for warning in check.warnings:
        err.print(f"warning  {warning}", style="yellow", markup=False, soft_wrap=True)
    if not figures:
        return
    facts = check.facts
    _line("rows", f"{facts['training_rows']:,} to train on, {facts['held_out_rows']:,} held out")
    _line("steps", f"{figures['steps']:,}, {facts['epochs']:.1f} times through the rows")
    _line("prompts", f"{figures['prompts']:,}")
    _line("completions", f"{figures['completions']:,}, {facts['completions_per_step']:,} a step")
    _line("tokens", f"{figures['completion_tokens_at_most']:,} at most, in completions of training")
    if figures["memory_bytes"] is not None:
        _line(
            "memory",
            f"about {output.size(figures['memory_bytes'])} for the trainer (rank 16, 4,096 tokens at once)",
        )
    if figures["seconds_at_most"] is not None:
        _line("time limit", f"{output.duration(figures['seconds_at_most'])} at most")


def _line(name: str, text: str) -> None:
    out.print(f"{name:>14}  {text}", markup=False, soft_wrap=True)
