"""Commands under `reinforge tracker`."""

from typing import Annotated, Literal

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.output import Json, err, out
from reinforge.errors import InvalidInput
from reinforge.settings import variable

app = typer.Typer(
    help="Experiment trackers: Weights & Biases and MLflow, to which jobs are exported live.",
    no_args_is_help=True,
)
JobArgument = Annotated[str, typer.Argument(help="Id of the job.")]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the tracker, of your choice.")],
    kind: Annotated[Literal["wandb", "mlflow"], typer.Option(help="wandb or mlflow.")],
    destination: Annotated[str, typer.Option(help="W&B project or MLflow experiment.")],
    url: Annotated[
        str | None, typer.Option(help="MLflow: the tracking URI. W&B: default https://api.wandb.ai.")
    ] = None,
    entity: Annotated[str | None, typer.Option(help="W&B user or team. Default: the key's.")] = None,
    username: Annotated[
        str | None,
        typer.Option(help="User name for MLflow with basic authentication; the key is then the password."),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the key, which is sent once and stored encrypted."),
    ] = None,
    every_job: Annotated[bool, typer.Option(help="Export every new job of the project.")] = False,
    json: Json = False,
) -> None:
    """Add a tracker to the project. For owners."""
    api_key = variable(key_env) if key_env is not None else None
    if key_env is not None and not api_key:
        raise InvalidInput(f"The environment variable {key_env} is not set.", code="usage", param="key_env")
    with connect() as client:
        tracker = client.trackers.add(
            name,
            kind=kind,
            destination=destination,
            url=url,
            entity=entity,
            username=username,
            api_key=api_key,
            every_job=every_job,
        )
    if json:
        output.print_json(tracker)
    else:
        out.print(tracker.id)


@app.command("list")
def list_trackers(json: Json = False) -> None:
    """List the trackers of the project."""
    with connect() as client:
        trackers = client.trackers.list()
    if json:
        output.print_json(trackers)
        return
    output.print_table(
        ["name", "kind", "address", "destination", "key", "every job"],
        (
            [
                tracker.name,
                tracker.kind,
                tracker.url,
                "/".join(part for part in (tracker.entity, tracker.destination) if part),
                "yes" if tracker.has_key else "no",
                "yes" if tracker.every_job else "no",
            ]
            for tracker in trackers
        ),
        empty="No trackers yet. Add one: reinforge tracker add NAME --kind mlflow --url URL --destination EXPERIMENT",
    )


@app.command()
def remove(name: Annotated[str, typer.Argument(help="Name or id.")]) -> None:
    """Remove a tracker. Exports to it stop; the runs stored there remain. For owners."""
    with connect() as client:
        client.trackers.remove(name)
    err.print(f"{name} is removed.")


@app.command()
def export(
    job: JobArgument,
    tracker: Annotated[str, typer.Argument(help="Name of the tracker.")],
    json: Json = False,
) -> None:
    """Export a job to a tracker: live while the job runs, or all at once if it has ended."""
    with connect() as client:
        started = client.trackers.export(job, tracker)
    if json:
        output.print_json(started)
    else:
        out.print(started.id)


@app.command()
def exports(job: JobArgument, json: Json = False) -> None:
    """List the exports of a job."""
    with connect() as client:
        rows = client.trackers.exports(job)
    if json:
        output.print_json(rows)
        return
    output.print_table(
        ["id", "tracker", "state", "step", "run", "error"],
        (
            [
                row.id,
                row.tracker,
                row.state,
                "-" if row.step is None else str(row.step),
                row.url or "-",
                row.error or "-",
            ]
            for row in rows
        ),
        empty="The job is not exported. Start: reinforge tracker export JOB TRACKER",
    )


@app.command()
def stop(job: JobArgument, export: Annotated[str, typer.Argument(help="Id of the export.")]) -> None:
    """Stop an export of a job; the run at the tracker stays."""
    with connect() as client:
        client.trackers.stop_export(job, export)
