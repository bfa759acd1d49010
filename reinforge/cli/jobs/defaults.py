"""Command `reinforge job defaults`, and the values of `reinforge job create --suggested`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.files import push_files
from reinforge.cli.jobs.steer import Settings, with_settings
from reinforge.cli.output import Json, duration, err, out
from reinforge.client import Reinforge
from reinforge.client.shared import document
from reinforge.job_defaults import TimeEstimate, filled, stated
from reinforge.offline.jobfile import load
from reinforge.preflight.report import Range
from reinforge.schemas.job_defaults import JobDefaults
from reinforge.spec import JobSpec

app = typer.Typer()
MINUTE = 60.0


def push_parts(client: Reinforge, spec: JobSpec) -> JobSpec:
    """Like `push_files`, but returns a changed specification."""
    raw = spec.model_dump(mode="json", exclude_unset=True)
    push_files(client, raw)
    return JobSpec.model_validate(raw)


@app.command()
def defaults(
    file: Annotated[Path, typer.Option("--file", "-f", help="Job file (YAML or JSON).")],
    set: Settings = None,
    json: Json = False,
) -> None:
    """Suggest values, with reasons, for settings that a job file lacks, and estimate the job's time.

    They depend on the base model, the dataset, the online workers and the newest pre-flight of the same job.
    Creates no job, but uploads dataset and reward files first.
    """
    with connect() as client:
        spec = push_parts(client, with_settings(load(file), set))
        suggested = client.jobs.defaults(spec)
    if json:
        output.print_json(suggested)
        return
    print_table(document(spec), suggested)
    out.print(f"time: {time_text(suggested)}", markup=False, soft_wrap=True)


def with_suggested(client: Reinforge, spec: JobSpec, *, quiet: bool = False) -> JobSpec:
    """Fill in suggested values where the specification has none; prints them to stderr unless `quiet`."""
    raw, suggested = document(spec), client.jobs.defaults(spec)
    if not quiet:
        for default in suggested.data:
            if default.becomes is None and stated(raw, default.field) is None:
                text = f"{default.field}: {default.value}. {default.reason}"
                err.print(text, markup=False, highlight=False, soft_wrap=True)
    return JobSpec.model_validate(filled(raw, suggested.data))


def print_table(raw: dict[str, Any], suggested: JobDefaults) -> None:
    rows = []
    for default in suggested.data:
        value = str(default.value)
        if default.becomes is not None:
            becomes = default.becomes
            value += f" ({becomes:g})" if isinstance(becomes, float) else f" ({becomes})"
        own = stated(raw, default.field)
        rows.append([default.field, value, "" if own is None else str(own), default.reason])
    output.print_table(["field", "suggested", "file", "reason"], rows, empty="")


def time_text(suggested: JobDefaults) -> str:
    estimate = suggested.estimate
    if estimate is None:
        return suggested.estimate_note or "No estimate yet."
    return f"{time_range(estimate)}. {estimate.reason}"


def time_range(estimate: TimeEstimate) -> str:
    return f"about {_between(estimate.seconds)}, {_between(estimate.seconds_per_step)} a step"


def _between(seconds: Range) -> str:
    expected, low, high = (_seconds(end) for end in (seconds.expected, seconds.low, seconds.high))
    return expected if low == high else f"{expected} ({low} to {high})"


def _seconds(value: float) -> str:
    return duration(value) if value >= MINUTE else f"{value:.2g} s"
