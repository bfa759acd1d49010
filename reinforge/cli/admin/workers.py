"""Command `reinforge worker list`."""

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.output import Json, err
from reinforge.jails import JAIL_NAMES
from reinforge.schemas.resources import WorkerInfo

app = typer.Typer(help="Workers: the processes that train and serve models.", no_args_is_help=True)


@app.command("list")
def list_workers(json: Json = False) -> None:
    """List workers and their state. To start one, see docs/workers.md."""
    with connect() as client:
        workers = client.workers.list()
    output.listing(
        workers,
        ["id", "kind", "state", "host", "device", "sandbox", "version", "last seen"],
        lambda worker: [
            worker.id,
            worker.kind,
            _state(worker),
            worker.hostname,
            worker.device or "",
            JAIL_NAMES.get(worker.jail, worker.jail) if worker.jail else "",
            worker.version,
            output.ago(worker.last_seen_at),
        ],
        empty="No worker has ever been online. Run `reinforge doctor` to find the cause.",
        json=json,
    )
    for worker in workers:
        if worker.notice and worker.online and not json:
            err.print(f"{worker.id}: {worker.notice}", markup=False, soft_wrap=True)


def _state(worker: WorkerInfo) -> str:
    if not worker.online:
        return "offline"
    if worker.job:
        return f"runs {worker.job}"
    return "runs a job of another project" if worker.busy else "idle"
