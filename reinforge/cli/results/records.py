"""Commands `reinforge job logs` and `reinforge job metrics`."""

import csv
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, err, number, out
from reinforge.client import Reinforge
from reinforge.client.protocol import Outage
from reinforge.client.shared import RESTS
from reinforge.errors import InvalidInput, Unavailable
from reinforge.schemas.jobs import LogEntry, Metrics, Series

app = typer.Typer()
PAGE_SIZE = 1000
POLL_SECONDS = 1.0
Follow = Annotated[
    bool, typer.Option("--follow", "-f", help="Print new lines until the job is finished or paused.")
]
FollowJson = Annotated[
    bool, typer.Option("--json", help="Print JSON on stdout: a list; with --follow one object per line.")
]
Keys = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="KEY", help="Only this metric, such as reward/mean. Repeat for more."),
]


@app.command()
def logs(
    id: JobId,
    follow: Follow = False,
    tail: Annotated[int | None, typer.Option(help="Only the last N lines.", min=1)] = None,
    json: FollowJson = False,
) -> None:
    """Print the log of a job's worker: messages, warnings, errors and tracebacks."""
    with connect() as client:
        try:
            entries = list(_log_entries(client, id, after=0))
            last = entries[-1].seq if entries else 0
            entries = entries[-tail:] if tail else entries
            if json and not follow:
                output.print_json(entries)
                return
            _print_entries(entries, json=json)
            if follow:
                _follow(client, id, after=last, json=json)
            elif not entries:
                err.print("No log lines yet.")
        except KeyboardInterrupt:
            err.print(f"\nDetached; {id} keeps running.")
            raise typer.Exit(Exit.INTERRUPTED) from None


def _log_entries(client: Reinforge, id: str, *, after: int) -> Iterator[LogEntry]:
    while True:
        page = client.jobs.logs(id, after=after, limit=PAGE_SIZE)
        yield from page
        if len(page) < PAGE_SIZE:
            return
        after = page[-1].seq


def _follow(client: Reinforge, id: str, *, after: int, json: bool) -> None:
    outage = Outage()
    while True:
        job = client.transport.get_through_outage(f"/jobs/{id}", outage)
        ended = job["status"] in RESTS  # before the lines are read: none is lost
        try:
            entries = list(_log_entries(client, id, after=after))
        except Unavailable as error:
            time.sleep(outage.pause(error))
            continue
        _print_entries(entries, json=json)
        after = entries[-1].seq if entries else after
        if ended:
            return
        time.sleep(POLL_SECONDS)


def _print_entries(entries: list[LogEntry], *, json: bool) -> None:
    for entry in entries:
        if json:
            sys.stdout.write(entry.model_dump_json() + "\n")
            continue
        moment = datetime.fromtimestamp(entry.ts, UTC).strftime("%Y-%m-%d %H:%M:%S")
        step = "" if entry.step is None else f"step {entry.step}: "
        line = f"{moment}  {entry.level:<7}  {step}{entry.message}"
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    sys.stdout.flush()


@app.command()
def metrics(
    id: JobId,
    key: Keys = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print every point as CSV: key, kind, step, time, value.")
    ] = False,
    json: Json = False,
) -> None:
    """Print each metric's first, last, smallest and largest value; --json and --csv print every point."""
    if csv and json:
        raise InvalidInput("Give --csv or --json, not both.", code="usage")
    with connect() as client:
        measured = client.jobs.metrics(id, keys=key)
        _check_keys(client, id, key, measured)
    if json:
        output.print_json(measured)
    elif csv:
        _write_csv(measured)
    else:
        output.print_table(
            ["metric", "kind", "steps", "first", "last", "smallest", "largest"],
            map(_summary, measured.series),
            empty="No metrics yet: the first step is under way.",
        )


def _check_keys(client: Reinforge, id: str, keys: list[str] | None, measured: Metrics) -> None:
    missing = set(keys or ()) - {series.key for series in measured.series}
    if not missing:
        return
    existing = [series.key for series in client.jobs.metrics(id, buckets=2).series]
    raise InvalidInput(
        f"The job has no metric {', '.join(sorted(missing))}.",
        code="unknown_metric",
        param="--key",
        hint=f"It has: {', '.join(dict.fromkeys(existing))}." if existing else "It has none yet.",
    )


def _summary(series: Series) -> list[str]:
    values = [value for value in series.values if value is not None]
    first, last = (values[0], values[-1]) if values else (None, None)
    figures = (first, last, min(values, default=None), max(values, default=None))
    return [series.key, series.kind, str(len(series.steps)), *map(_figure, figures)]


def _figure(value: float | None) -> str:
    """Format a value with four decimals; below 0.001 with three significant digits, such as 1e-05."""
    return f"{value:.3g}" if value is not None and 0 < abs(value) < 0.001 else number(value, 4)


def _write_csv(measured: Metrics) -> None:
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["key", "kind", "step", "time", "value"])
    for series in measured.series:
        for step, moment, value in zip(series.steps, series.ts, series.values, strict=True):
            time_of = datetime.fromtimestamp(moment, UTC).isoformat()
            rows.writerow([series.key, series.kind, step, time_of, "" if value is None else repr(value)])
