"""Command `reinforge import`."""

from pathlib import Path
from typing import Annotated

import typer

from reinforge import imports
from reinforge.cli import output
from reinforge.cli.output import Json, err, out
from reinforge.dataset import detect_format, iter_rows


def import_project(
    file: Annotated[
        Path,
        typer.Argument(
            help="A fine-tuning job as JSON, or a Python file with rewards (OpenAI, Predibase, TRL)."
        ),
    ],
    to: Annotated[Path | None, typer.Option(help="Folder to create; default: the file's name.")] = None,
    model: Annotated[str, typer.Option(help="Base model to train.")] = "starter-arith",
    data: Annotated[
        Path | None, typer.Option(help="File of rows to train on. Default: a stub is written.")
    ] = None,
    json: Json = False,
) -> None:
    """Convert another service's job or reward to a folder with a job file, a reward and a dataset."""
    rows = None if data is None else sum(1 for _ in iter_rows(data, detect_format(data)))
    folder = to or Path(file.stem)
    project = imports.read(file, model, rows)
    project.use_data(data, folder)
    written = project.write(folder)
    if json:
        output.print_json(
            {"folder": str(folder), "files": [str(path) for path in written], "notes": project.notes}
        )
        return
    for path in written:
        out.print(str(path), markup=False, soft_wrap=True)
    for note in project.notes:
        err.print(f"- {note}", markup=False, soft_wrap=True)
    err.print(f"Next: reinforge job create -f {written[0]} --wait", markup=False, soft_wrap=True)
