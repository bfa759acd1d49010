"""Commands `reinforge bundle` and `reinforge reproduce`."""

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.admin.serve import need
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, Quiet, err, out
from reinforge.cli.repeat.differences import describe
from reinforge.offline.bundle_job import Inputs
from reinforge.offline.reproduce import Reproduction
from reinforge.offline.reproduce import reproduce as repeat


def bundle(
    id: JobId,
    to: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write; default: the job's name with .bundle.tar."),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows/--no-rows", help="Include the dataset's rows, or only their hash.")
    ] = True,
    completions: Annotated[
        bool,
        typer.Option("--completions/--no-completions", help="Include the completions with their prompts."),
    ] = True,
    json: Json = False,
) -> None:
    """Write everything needed to repeat an ended job to one file, for `reinforge reproduce`.

    The file has specification, dataset, reward sources, seeds, versions, adapters and checksums, and metrics
    and completions as Parquet.
    """
    with connect() as client:
        if to is None:
            name = re.sub(r"[^\w .-]+", "_", client.jobs.get(id).name).strip(" .") or id
            to = Path(f"{name}.bundle.tar")
        written = client.jobs.bundle(id, to, rows=rows, completions=completions)
    if json:
        output.print_json({"job": id, "path": str(written), "bytes": written.stat().st_size})
        return
    err.print(
        f"{output.size(written.stat().st_size)}; repeat it with: reinforge reproduce {written}",
        soft_wrap=True,
    )
    out.print(str(written), markup=False, soft_wrap=True)


def reproduce(
    file: Annotated[Path, typer.Argument(help="Bundle that `reinforge bundle` wrote.", metavar="BUNDLE")],
    steps: Annotated[int | None, typer.Option(help="Repeat only the first N steps.", min=1)] = None,
    model: Annotated[
        Path | None, typer.Option(help="Folder of the base model, if it is neither built in nor on the hub.")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option(help="File of training rows, for a bundle without rows.")
    ] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="File of held-out rows, for a bundle without rows.")
    ] = None,
    out_folder: Annotated[Path | None, typer.Option("--out", help="New folder for the repeated job.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a bundle's job here, without a server, and compare it with the original step by step.

    The bundle's reward code runs in the sandbox. Print the first difference. Exit 0 if all results are
    bitwise identical, else 1.
    """
    need("worker")
    folder = (out_folder or Path("runs") / f"reproduce-{time.strftime('%Y%m%d-%H%M%S')}").resolve()
    result = repeat(file, folder, Inputs(model, dataset, held_out), steps=steps)
    if json:
        output.print_json(result)
    elif not quiet:
        _print(result)
    if result.outcome != "same":
        raise typer.Exit(Exit.FAILED)


def _print(result: Reproduction) -> None:
    for name, (job, here) in result.machine.items():
        err.print(
            f"[yellow]note[/yellow] {name}: {here or 'none'} here, {job or 'none'} in the job",
            highlight=False,
        )
    if result.difference is not None:
        out.print(f"different: {describe(result.difference, ('job', 'here'))}", markup=False, soft_wrap=True)
    elif result.outcome == "not_run":
        out.print(f"not repeated: {result.message}", markup=False, soft_wrap=True)
    else:
        counts = ", ".join(f"{number:,} {name}" for name, number in result.compared.items() if number)
        adapter = "; the final adapter is the same to the bit" if result.adapter else ""
        out.print(f"the same in {result.steps} steps: {counts}{adapter}", markup=False, soft_wrap=True)
