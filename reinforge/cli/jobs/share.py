"""`reinforge job export`."""

import re
from pathlib import Path
from typing import Annotated

import typer

from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import err, out

app = typer.Typer()


@app.command("export")
def export_job(
    id: JobId,
    to: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; default: the job's name with .html.")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, max=50, help="Prompts whose completions it contains; 0 for none.")
    ] = 8,
) -> None:
    """Write the job as one HTML file: verdict, charts, held-out table, configuration, notes, sample completions."""
    with connect() as client:
        if to is None:
            name = re.sub(r"[^\w .-]+", "_", client.jobs.get(id).name).strip(" .") or id
            to = Path(f"{name}.html")
        written = client.jobs.export(id, to, samples=samples)
    if samples:
        err.print("It contains prompts and completions of the job.")
    out.print(str(written), markup=False, soft_wrap=True)
