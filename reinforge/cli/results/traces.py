"""Command `reinforge job traces`."""

import json as jsonlib
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, err, out

app = typer.Typer()


@app.command("traces")
def make_dataset(
    id: JobId,
    min_reward: Annotated[float, typer.Option(help="Lowest reward of a completion.")],
    to: Annotated[
        str | None, typer.Option("--to", help="Name of the new dataset.", metavar="DATASET")
    ] = None,
    chat: Annotated[
        Path | None,
        typer.Option(
            "--chat", help="Also write the completions to this file as chats, for supervised training."
        ),
    ] = None,
    per_prompt: Annotated[
        int, typer.Option(help="Maximum number of completions per prompt.", min=1, max=1000)
    ] = 4,
    first_step: Annotated[int, typer.Option(help="First step to include.", min=0)] = 0,
    last_step: Annotated[
        int | None, typer.Option(help="Last step to include. Default: the newest.", min=0)
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Completions of held-out rows instead of training rows.")
    ] = False,
    truncated: Annotated[
        bool, typer.Option("--truncated", help="Include completions that reached the token limit.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of completions.", min=1, max=100_000)] = 10_000,
    json: Json = False,
) -> None:
    """Make a dataset of a job's best completions, without duplicates."""
    with connect() as client:
        dataset = client.jobs.traces(
            id, min_reward, name=to, per_prompt=per_prompt, first_step=first_step,
            last_step=last_step, split="held_out" if held_out else "train", truncated=truncated, limit=limit,
        )  # fmt: skip
        if chat is not None:
            with tempfile.TemporaryDirectory() as folder:
                rows = client.datasets.download(dataset.id, Path(folder) / "rows.jsonl")
                write_chats(rows, chat)
    if json:
        output.print_json(dataset)
        return
    if held_out:
        err.print(
            "[yellow]note[/yellow] Held-out rows measure jobs: do not train a model on rows that measure it."
        )
    err.print(f"{dataset.rows:,} completions, {output.size(dataset.bytes)}: {dataset.name}", markup=False)
    out.print(dataset.id)


def write_chats(rows: Path, to: Path) -> None:
    """Write rows as JSONL of `messages`: the prompt, then the completion as the assistant's message."""
    with rows.open(encoding="utf-8") as source, to.open("w", encoding="utf-8") as chats:
        for line in source:
            row = jsonlib.loads(line)
            prompt, completion = (
                row.get(f"trace_{name}", row.get(name)) for name in ("completion_prompt", "completion")
            )
            messages = [*prompt, {"role": "assistant", "content": completion}]
            chats.write(jsonlib.dumps({"messages": messages}, ensure_ascii=False) + "\n")
