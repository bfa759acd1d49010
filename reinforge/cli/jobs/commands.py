"""Commands `reinforge job create`, `schema`, `show`, `watch`, `cancel`, `delete` and `resume`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.jobs import dry_run as dry
from reinforge.cli.jobs.defaults import app as defaults
from reinforge.cli.jobs.defaults import push_parts, with_suggested
from reinforge.cli.jobs.listing import app as listing
from reinforge.cli.jobs.listing import state_text
from reinforge.cli.jobs.rate import changes_of_rate, learning_rate
from reinforge.cli.jobs.steer import JobId, Settings, with_settings
from reinforge.cli.jobs.steer import app as steer
from reinforge.cli.jobs.watch import follow
from reinforge.cli.output import Json, Quiet, Timeout, err, number, out
from reinforge.cli.release.card import app as card
from reinforge.cli.release.probe import app as probe
from reinforge.cli.results.completions import app as completions
from reinforge.cli.results.findings import app as findings
from reinforge.cli.results.prompts import app as prompts
from reinforge.cli.results.records import app as records
from reinforge.cli.results.share import app as share
from reinforge.cli.results.traces import app as traces
from reinforge.cli.results.training_check import fetch, report_check, with_check
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput
from reinforge.offline.jobfile import load, schema
from reinforge.schemas.job_changes import JobChangeView
from reinforge.schemas.jobs import JobDetail
from reinforge.states import JobStatus

app = typer.Typer(help="Start, watch, steer, stop and read jobs.", no_args_is_help=True)
app.add_typer(defaults)
app.add_typer(steer)
app.add_typer(records)
app.add_typer(completions)
app.add_typer(prompts)
app.add_typer(listing)
app.add_typer(share)
app.add_typer(traces)
app.add_typer(card)
app.add_typer(probe)
app.add_typer(findings)


@app.command()
def create(
    file: Annotated[
        Path, typer.Option("--file", "-f", help="Job file (YAML or JSON); see docs/job-file.md.")
    ],
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow the job to its end; the exit code shows how it ended.")
    ] = False,
    timeout: Timeout = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check the job and estimate its size and time.")
    ] = False,
    suggested: Annotated[
        bool,
        typer.Option(
            "--suggested", help="Use the values of `job defaults` for settings that the file lacks."
        ),
    ] = False,
    name: Annotated[str | None, typer.Option(help="Name of the job, instead of the file's.")] = None,
    set: Settings = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Start a job. Dataset and reward files that it names are uploaded first (also with --dry-run)."""
    _check_timeout(timeout, wait)
    if dry_run and wait:
        raise InvalidInput("--dry-run creates no job, so --wait cannot be used with it.", code="usage")
    spec = with_settings(load(file), set)
    if name:
        spec = spec.model_copy(update={"name": name})
    with connect() as client:
        spec = push_parts(client, spec)
        if suggested:
            spec = with_suggested(client, spec, quiet=quiet)
        if dry_run:
            dry.run(client, spec, file=file, json=json)
            return
        job = client.jobs.create(spec)
        if not quiet:
            err.print(f"{job.id} is {job.status}: {client.base_url}/jobs/{job.id}")
        if wait:
            if quiet and not json:
                out.print(job.id)  # at once: what follows may be interrupted
            _finish(client, job.id, json=json, quiet=quiet, timeout=timeout)
        elif json:
            output.print_json(job)
        else:
            out.print(job.id)


@app.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of job files (`# yaml-language-server: $schema=…`). Needs no server."""
    output.print_json(schema())


@app.command()
def show(id: JobId, json: Json = False) -> None:
    """Show a job: state, reason, progress, held-out reward, adapter, training check and advice."""
    with connect() as client:
        job = client.jobs.get(id)
        check = fetch(client, id)
        changes = [] if json else changes_of_rate(client, job)
    if json:
        output.print_json(with_check(job, check))
    else:
        report(job, changes)
        report_check(check)
        if job.finding:
            out.print(f"  remedies   reinforge job findings {job.id}", markup=False)


@app.command()
def watch(
    id: JobId,
    exit_status: Annotated[
        bool, typer.Option("--exit-status", help="Exit 1 unless the job succeeds; 2 if it is cancelled.")
    ] = False,
    timeout: Timeout = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Follow a job live. Ctrl-C detaches; the job keeps running."""
    with connect() as client:
        _finish(client, id, json=json, quiet=quiet, timeout=timeout, exit_status=exit_status)


@app.command()
def cancel(id: JobId, json: Json = False) -> None:
    """Cancel a job. Its stored data is kept."""
    with connect() as client:
        job = client.jobs.cancel(id)
    output.result(job, f"{job.id} is {job.status}", json=json)


@app.command()
def delete(id: JobId) -> None:
    """Delete an ended job with its checkpoints, adapter and completions. This cannot be undone."""
    with connect() as client:
        client.jobs.delete(id)
    err.print(f"{id} is deleted")


@app.command()
def resume(
    id: JobId,
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow the job to its end; the exit code shows how it ended.")
    ] = False,
    timeout: Timeout = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Resume a paused job."""
    _check_timeout(timeout, wait)
    with connect() as client:
        job = client.jobs.resume(id)
        if not quiet:
            err.print(f"{job.id} is {job.status}: {client.base_url}/jobs/{job.id}")
        if wait:
            _finish(client, id, json=json, quiet=quiet, timeout=timeout)
        elif json:
            output.print_json(job)


def report(job: JobDetail, changes: Sequence[JobChangeView]) -> None:
    """changes: changes of the learning rate."""
    out.print(f"[bold]{escape(job.name)}[/bold]  {job.id}")
    if job.tags or job.archived:
        out.print(
            "  tags       " + ", ".join([*job.tags, *(["(archived)"] if job.archived else [])]), markup=False
        )
    if job.notes:
        out.print(f"  notes      {job.notes}", markup=False, soft_wrap=True)
    out.print(f"  state      {state_text(job)}" + (f", {job.reason}" if job.reason else ""), markup=False)
    if job.queue:
        why = job.queue.reason.replace("_", " ")
        out.print(f"  queue      number {job.queue.position} of {job.queue.of}, {why}")
        if job.queue.notice:
            out.print(f"  notice     {job.queue.notice}", markup=False)
    out.print(f"  step       {job.progress.step} of {job.progress.steps}, attempt {job.attempt}")
    out.print(
        f"  held-out   {number(job.held_out_reward_before)} → {number(job.held_out_reward)}{_shaping(job)}"
    )
    if job.verdict_detail:
        out.print(f"  verdict    {job.verdict_detail.message}", markup=False, soft_wrap=True)
    out.print(f"  model      {job.model}")
    if rate := learning_rate(job, changes):
        out.print(f"  rate       {rate}", markup=False, soft_wrap=True)
    if job.adapter:
        # Without --final the command refuses a job of which no checkpoint is better than the base.
        best, which = (
            ("", " --final") if job.best_step is None else (f", best checkpoint: step {job.best_step}", "")
        )
        command = f"reinforge adapter download {job.id}{which}"
        out.print(f"  adapter    {job.adapter}{best}  ({command})", soft_wrap=True)
    if job.error:
        out.print(f"  error      {job.error.code}: {job.error.message}", markup=False)
        if job.error.hint:
            out.print(f"  hint       {job.error.hint}", markup=False)
        if job.error.traceback:
            out.print(job.error.traceback, markup=False)
    if job.status == JobStatus.PAUSED:
        out.print(f"  go on with  reinforge job resume {job.id}", markup=False)


def _shaping(job: JobDetail) -> str:
    return "  (includes the preset's shaping: job made before 0.2)" if job.held_out_includes_shaping else ""


def _check_timeout(timeout: float | None, wait: bool) -> None:
    if timeout is not None and not wait:
        raise InvalidInput("--timeout needs --wait.", code="usage")


def _finish(
    client: Reinforge, id: str, *, json: bool, quiet: bool, timeout: float | None, exit_status: bool = True
) -> None:
    again = f"{id} keeps running. Attach again: reinforge job watch {id}"
    try:
        job = follow(client, id, quiet=quiet or json, timeout=timeout)
    except KeyboardInterrupt:
        err.print(f"\nDetached; {again}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    except TimeoutError:
        err.print(f"Not finished after {timeout:g} s; {again}")
        raise typer.Exit(Exit.TIMEOUT) from None
    if json:
        output.print_json(job)
    elif not quiet:
        report(job, changes_of_rate(client, job))
    if exit_status and job.status != JobStatus.SUCCEEDED:
        raise typer.Exit(Exit.USAGE if job.status == JobStatus.CANCELLED else Exit.FAILED)
