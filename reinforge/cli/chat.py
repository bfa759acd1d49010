"""Command `reinforge chat`."""

import sys
from typing import Annotated, Any

import typer

from reinforge.cli.connection import connect
from reinforge.cli.output import err
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput


def chat(
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads it from standard input.")],
    model: Annotated[str, typer.Option("--model", "-m", help="Base model.")] = "starter-arith",
    job: Annotated[
        str | None,
        typer.Option("--job", "-j", help="Ask this job's best checkpoint instead of a base model."),
    ] = None,
    step: Annotated[int | None, typer.Option(help="With --job: the checkpoint after this step.")] = None,
    system: Annotated[str | None, typer.Option(help="System message.")] = None,
    temperature: Annotated[
        float, typer.Option(help="Sampling temperature; 0 always takes the most likely token.")
    ] = 1.0,
    max_tokens: Annotated[int, typer.Option(help="Maximum tokens of an answer.")] = 256,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.")] = 0,
) -> None:
    """Send a prompt to a base model or a job's checkpoint and stream the answer."""
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": sys.stdin.read() if prompt == "-" else prompt})
    options: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    with connect() as client:
        if job is not None:
            model, options["checkpoint"] = _checkpoint(client, job, step)
        elif step is not None:
            raise InvalidInput("--step chooses a checkpoint of a job: give --job too.", code="usage")
        for event in client.sample(model, [messages], **options):
            match event.type:
                case "status":
                    err.print(f"[dim]{event.message}[/dim]")
                case "delta":
                    sys.stdout.write(event.text or "")
                    sys.stdout.flush()
                case "done":
                    sys.stdout.write("\n")
                    if event.finish_reason == "length":
                        err.print(f"[dim]cut off after {event.tokens} tokens[/dim]")
                case _:
                    pass


def _checkpoint(client: Reinforge, job: str, step: int | None) -> tuple[str, str]:
    model = client.jobs.get(job).model
    checkpoints = sorted(client.jobs.checkpoints(job), key=lambda checkpoint: checkpoint.step)
    if step is not None:
        matches = [checkpoint for checkpoint in checkpoints if checkpoint.step == step]
    else:
        matches = [checkpoint for checkpoint in checkpoints if checkpoint.best] or checkpoints[-1:]
    if not matches:
        steps = ", ".join(str(checkpoint.step) for checkpoint in checkpoints)
        raise InvalidInput(
            "The job has no checkpoint after this step." if checkpoints else "The job has no checkpoint yet.",
            code="checkpoint_not_found",
            hint=f"It has checkpoints after the steps {steps}."
            if checkpoints
            else "Wait until its first evaluation.",
        )
    return model, matches[0].id
