"""Choice of a job's checkpoint, and messages about it."""

from collections.abc import Sequence
from typing import Annotated

import typer

from reinforge.cli.output import err
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.evaluation.checkpoint_choice import describe_checkpoint, none_better, pick_checkpoint
from reinforge.schemas.checkpoints import Checkpoint
from reinforge.schemas.jobs import JobDetail

Final = Annotated[
    bool, typer.Option("--final", help="For a job: use the final checkpoint, even if another one is better.")
]
Step = Annotated[
    int | None, typer.Option("--step", help="For a job: use the checkpoint of this step.", min=1)
]


def choose(client: Reinforge, id: str, *, final: bool = False, step: int | None = None) -> Checkpoint:
    """The job's best or final checkpoint, or that of `step`. Prints how it compares with the base model.

    Raises StateConflict `no_adapter` before the job has an adapter, `no_better_checkpoint` if none is
    better than the base model, NotFound if `step` has no checkpoint.
    """
    if final and step is not None:
        raise InvalidInput("Give --final or --step, not both.", code="usage")
    job, checkpoints = client.jobs.get(id), client.jobs.checkpoints(id)
    chosen = _of_step(checkpoints, step) if step is not None else _picked(job, checkpoints, final=final)
    _describe(job, checkpoints, chosen)
    return chosen


def choose_any(client: Reinforge, id: str) -> Checkpoint:
    """Like `choose`, but returns the final checkpoint if none is better than the base model."""
    try:
        return choose(client, id)
    except StateConflict as error:
        if error.code != "no_better_checkpoint":
            raise
        return choose(client, id, final=True)


def require_job(id: str, *, final: bool, step: int | None) -> None:
    """Raise InvalidInput if `--final` or `--step` is used without a job."""
    if not id.startswith("ftjob-") and (final or step is not None):
        raise InvalidInput(
            "--final and --step choose a checkpoint of a job: give a job's id (ftjob-…).", code="usage"
        )


def warn_of_adapter(client: Reinforge, id: str) -> None:
    adapter = client.adapters.get(id)
    if adapter.base_reward is None or adapter.held_out_reward is None:
        return
    if adapter.best is not None and adapter.best.step != adapter.step:
        _note(
            f"This adapter is the final checkpoint, step {adapter.step} ({adapter.held_out_reward:.2f}). Step"
            f" {adapter.best.step} is better ({adapter.best.held_out_reward:.2f}): use {adapter.job} instead."
        )
    elif adapter.best is None and adapter.held_out_reward <= adapter.base_reward:
        _note(
            f"This adapter is not better than the base: held-out reward {adapter.held_out_reward:.2f}, base"
            f" {adapter.base_reward:.2f}."
        )


def _picked(job: JobDetail, checkpoints: Sequence[Checkpoint], *, final: bool) -> Checkpoint:
    try:
        return pick_checkpoint(job, checkpoints, "final" if final else "best")
    except StateConflict as error:
        error.hint = (
            "Take the final checkpoint with --final, or another one with --step."
            if error.code == "no_better_checkpoint"
            else f"Wait for the job's end (reinforge job watch {job.id}), or choose a checkpoint with --step."
        )
        raise


def _of_step(checkpoints: Sequence[Checkpoint], step: int) -> Checkpoint:
    match = next((checkpoint for checkpoint in checkpoints if checkpoint.step == step), None)
    if match is None:
        steps = ", ".join(str(checkpoint.step) for checkpoint in reversed(checkpoints)) or "none"
        raise NotFound(
            f"No checkpoint of step {step} is stored.",
            code="checkpoint_not_found",
            hint=f"Steps with a checkpoint: {steps}.",
        )
    return match


def _describe(job: JobDetail, checkpoints: Sequence[Checkpoint], chosen: Checkpoint) -> None:
    err.print(describe_checkpoint(job, chosen), soft_wrap=True, markup=False)
    best = next((checkpoint for checkpoint in checkpoints if checkpoint.best), None)
    if best is None and job.held_out_reward_before is not None and chosen.held_out_reward is not None:
        _note(none_better(job, checkpoints))
    elif best is not None and best.step != chosen.step:
        _note(f"The best checkpoint is another one: {describe_checkpoint(job, best)}.")


def _note(text: str) -> None:
    err.print("[yellow]note[/yellow] ", end="")
    err.print(text, soft_wrap=True, markup=False)
