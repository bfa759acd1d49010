"""Commands under `reinforge example`."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs import commands
from reinforge.cli.output import Json, Quiet, Timeout, err, number, out
from reinforge.errors import InvalidInput
from reinforge.offline.examples import find

app = typer.Typer(help="Examples: jobs with data, reward and measured result.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Name of an example: see `reinforge example list`.")]


@app.command("list")
def list_examples(json: Json = False) -> None:
    """List the server's examples, with measured results where there are any."""
    with connect() as client:
        examples = client.examples.list()
    if json:
        output.print_json(examples)
        return
    rows = [
        [
            one.name,
            one.title,
            number(one.result.base) if one.result else "",
            number(one.result.tuned) if one.result else "",
            f"{one.result.seconds:.0f} s" if one.result else "",
            one.job or "",
        ]
        for one in examples
    ]
    output.print_table(["name", "title", "base", "tuned", "took", "unfinished job"], rows, empty="")


@app.command()
def start(
    name: Name,
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow the job to its end; the exit code shows how it ended.")
    ] = False,
    timeout: Timeout = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Start an example's job, unless an unfinished one exists. Data and reward are stored only once."""
    if timeout is not None and not wait:
        raise InvalidInput("--timeout needs --wait.", code="usage")
    with connect() as client:
        job = client.examples.start(name)
        if not quiet:
            err.print(f"{job.id} is {job.status}: {client.base_url}/jobs/{job.id}")
    if wait:
        commands.watch(job.id, exit_status=True, timeout=timeout, json=json, quiet=quiet)
    elif json:
        output.print_json(job)
    else:
        out.print(job.id)


@app.command()
def show(name: Name, json: Json = False) -> None:
    """Show an example's README. Needs no server."""
    example = find(name)
    if json:
        output.print_json(example.detail)
    else:
        out.print(example.readme, markup=False, highlight=False)


@app.command()
def copy(
    name: Name,
    folder: Annotated[Path, typer.Argument(help="New folder for its files.")],
) -> None:
    """Copy an example's files, to change them. Needs no server."""
    if folder.exists():
        raise InvalidInput(f"{folder} exists already; name a new folder.", code="out_exists", param="folder")
    shutil.copytree(find(name).folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    err.print(f"Start it: reinforge job create -f {folder / 'job.yaml'}")
    out.print(str(folder))
