"""Commands under `reinforge sweep`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer
from typer.core import TyperGroup

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.files import push_dataset, push_files
from reinforge.cli.output import Json, Quiet, Timeout, duration, err, number, out
from reinforge.client import Reinforge
from reinforge.comparison.groups import SEEDS
from reinforge.errors import InvalidInput
from reinforge.offline.jobfile import absolute, read
from reinforge.schemas.sweeps import SweepCheck, SweepDetail, SweepTrial
from reinforge.sweeps.variations import short

MOST_COMPARED = 50
_DATASETS = ("data.dataset", "data.held_out")
SweepId = Annotated[str, typer.Argument(help="Id of the sweep (sweep_…).")]


class FileOrCommand(TyperGroup):
    """Command group that reads `reinforge sweep FILE` as `reinforge sweep start FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options_first = args and args[0].startswith("-") and args[0] != "--help"
        if options_first or (args and args[0] not in self.commands and args[0] != "--help"):
            args = ["start", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=FileOrCommand,
    help="Run many jobs that differ in chosen settings: `reinforge sweep FILE`.",
    no_args_is_help=True,
)


@app.command()
def start(
    file: Annotated[Path, typer.Argument(help="Sweep file (YAML or JSON); see docs/sweeps.md.")],
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow the sweep to its end; the exit code shows how it ended.")
    ] = False,
    timeout: Timeout = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check the sweep and list its first jobs.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Start a sweep. Dataset and reward files that it names are uploaded first (also with --dry-run)."""
    if timeout is not None and not wait:
        raise InvalidInput("--timeout needs --wait.", code="usage")
    if dry_run and wait:
        raise InvalidInput("--dry-run creates no sweep, so --wait cannot be used with it.", code="usage")
    spec = load(file)
    with connect() as client:
        push(client, spec)
        if dry_run:
            _report_check(client.sweeps.check(spec), json=json)
            return
        sweep = client.sweeps.create(spec)
        if not quiet:
            err.print(
                f"{sweep.id}: {sweep.planned} jobs, {client.base_url}/sweeps/{sweep.id}", soft_wrap=True
            )
            for warning in sweep.warnings:
                err.print(f"[dim]note[/dim]  {warning}", soft_wrap=True)
        if wait:
            _follow(client, sweep, json=json, quiet=quiet, timeout=timeout)
        elif json:
            output.print_json(sweep)
        else:
            out.print(sweep.id)


def _report_check(check: SweepCheck, *, json: bool) -> None:
    """Exits with 2 if the server would refuse the sweep."""
    if json:
        output.print_json(check)
    else:
        for problem in check.problems:
            where = f" ({problem.param})" if problem.param else ""
            err.print(f"error {problem.message}{where}", style="red", markup=False, soft_wrap=True)
            if problem.hint:
                err.print(f"hint  {problem.hint}", style="dim", markup=False, soft_wrap=True)
        for warning in check.warnings:
            err.print(f"warning  {warning}", style="yellow", markup=False, soft_wrap=True)
        if check.ok:
            out.print(f"{check.planned} jobs; the first {len(check.trials)}:")
            rows = [
                [str(trial.number), trial.name, "–" if trial.seed is None else str(trial.seed)]
                for trial in check.trials
            ]
            output.print_table(["trial", "setting", "seed"], rows, empty="")
    if not check.ok:
        raise typer.Exit(Exit.USAGE)


@app.command("list")
def list_sweeps(json: Json = False) -> None:
    """List sweeps, newest first."""
    with connect() as client:
        sweeps = list(client.sweeps.list())
    output.listing(
        sweeps,
        ["id", "name", "state", "method", "jobs", "best", "best job"],
        lambda sweep: [
            sweep.id,
            sweep.name,
            sweep.status,
            sweep.method,
            f"{sum(sweep.counts.values())} of {sweep.planned}",
            number(sweep.best.objective if sweep.best else None),
            (sweep.best and sweep.best.job) or "–",
        ],
        empty="There are no sweeps. Start one with `reinforge sweep FILE`.",
        json=json,
    )


@app.command()
def show(id: SweepId, json: Json = False) -> None:
    """Show a sweep: its jobs by held-out reward, the best of them, and the address of their comparison."""
    with connect() as client:
        sweep = client.sweeps.get(id)
        if json:
            output.print_json(sweep)
        else:
            report(sweep, client.base_url)


@app.command()
def cancel(id: SweepId, json: Json = False) -> None:
    """Cancel a sweep and its jobs. Their stored data is kept."""
    with connect() as client:
        sweep = client.sweeps.cancel(id)
    output.result(sweep, f"{sweep.id} is {sweep.status}", json=json)


@app.command()
def delete(id: SweepId) -> None:
    """Delete an ended sweep; its jobs stay."""
    with connect() as client:
        client.sweeps.delete(id)
    err.print(f"{id} is deleted")


def load(path: Path) -> dict[str, Any]:
    """Read a sweep file and the job file that its `job` may name. Raises InvalidInput if one is not valid."""
    raw = read(path)
    folder, name, job = path.resolve().parent, path.name, raw.get("job")
    if isinstance(job, str):
        job_file = folder / job
        if not job_file.exists():
            raise InvalidInput(
                f"There is no job file {job} beside {name}.",
                code="file_not_found",
                param="job",
                hint="`job` is a job, or the path of a job file relative to the sweep file.",
            )
        job, folder, name = read(job_file), job_file.parent, job_file.name
    if not isinstance(job, dict):
        raise InvalidInput(
            f"{path.name} needs `job`: a job, or the path of a job file.",
            code="invalid_sweep_file",
            param="job",
        )
    raw["job"] = absolute(job, folder, name)
    beside = path.resolve().parent
    for parameters, key in _dataset_choices(raw):
        parameters[key] = [
            str(beside / value) if isinstance(value, str) and (beside / value).is_file() else value
            for value in parameters[key]
        ]
    return raw


def push(client: Reinforge, spec: dict[str, Any]) -> None:
    push_files(client, spec["job"])
    for parameters, key in _dataset_choices(spec):
        parameters[key] = [push_dataset(client, value) for value in parameters[key]]


def _dataset_choices(spec: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    parameters = spec.get("parameters")
    if isinstance(parameters, dict):
        for key in _DATASETS:
            if isinstance(parameters.get(key), list):
                yield parameters, key


def report(sweep: SweepDetail, server: str) -> None:
    reason = f" ({sweep.reason})" if sweep.reason else ""
    out.print(f"{sweep.name}: {sweep.status}{reason}, {sum(sweep.counts.values())} of {sweep.planned} jobs")
    if sweep.notice:
        err.print(f"[yellow]waiting[/yellow]  {sweep.notice}", soft_wrap=True)
    columns = ["trial", *sweep.varied, "state", "held-out", "at step", "took", "job"]
    rows = [_line(sweep, trial) for trial in _ranked(sweep)]
    output.print_table(columns, rows, empty="No job has been started yet.")
    several = [setting for setting in sweep.settings if len(setting.trials) > 1]
    if several:
        means = [
            [setting.name, number(setting.objective), number(setting.low), number(setting.high)]
            for setting in several
        ]
        output.print_table(["setting", "mean", "least", "most"], means, empty="")
    if sweep.best is not None:
        best = (
            f"best  {sweep.best.job or 'deleted job'}: {sweep.best.objective:.3f} at step {sweep.best.step}"
        )
        out.print(best + (f", adapter {sweep.best.adapter}" if sweep.best.adapter else ""), soft_wrap=True)
    if address := comparison(sweep, server):
        out.print(address, soft_wrap=True)


def comparison(sweep: SweepDetail, server: str) -> str | None:
    """URL of the page that compares the jobs, grouped over seeds, with the first trial's; None for fewer than two."""
    first = sweep.trials[:1]
    ids = [trial.job for trial in [*first, *(trial for trial in _ranked(sweep) if trial not in first)]]
    jobs = [id for id in ids if id][:MOST_COMPARED]
    if len(jobs) < 2:
        return None
    place = {"jobs": ",".join(jobs)} | ({"group": SEEDS} if len(sweep.spec.seed_values) > 1 else {})
    return f"{server}/compare?{urlencode(place, safe=',')}"


def _ranked(sweep: SweepDetail) -> list[SweepTrial]:
    return sorted(sweep.trials, key=lambda trial: (trial.objective is None, -(trial.objective or 0.0)))


def _line(sweep: SweepDetail, trial: SweepTrial) -> list[str]:
    values = [
        str(trial.seed) if path == "seed" and trial.seed is not None
        else short(trial.parameters[path]) if path in trial.parameters
        else "–"
        for path in sweep.varied
    ]  # fmt: skip
    state = f"{trial.status} ({trial.ended_by})" if trial.ended_by else trial.status
    held_out, step = number(trial.objective), str(trial.objective_step or "–")
    return [str(trial.number), *values, state, held_out, step, duration(trial.seconds), trial.job or "–"]


def _follow(client: Reinforge, sweep: SweepDetail, *, json: bool, quiet: bool, timeout: float | None) -> None:
    again = f"the sweep continues: reinforge sweep show {sweep.id}"
    try:
        ended = client.sweeps.wait(sweep.id, timeout=timeout)
    except KeyboardInterrupt:
        err.print(f"\nDetached; {again}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    except TimeoutError:
        err.print(f"Not finished after {timeout:g} s; {again}")
        raise typer.Exit(Exit.TIMEOUT) from None
    if json:
        output.print_json(ended)
    elif quiet:
        out.print(ended.best.job if ended.best and ended.best.job else ended.id)
    else:
        report(ended, client.base_url)
    if ended.status != "succeeded":
        raise typer.Exit(Exit.USAGE if ended.status == "cancelled" else Exit.FAILED)
