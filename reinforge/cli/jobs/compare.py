"""`reinforge compare`."""

from typing import Annotated, Any

import typer

from reinforge.cli.connection import connect
from reinforge.cli.output import Json, duration, number, out, print_json, print_table
from reinforge.schemas.comparison import ComparedJob, HeldOutEstimate, Moment


def compare(
    jobs: Annotated[list[str], typer.Argument(help="Ids of 2 to 50 jobs; the first is the baseline.")],
    at: Annotated[
        str,
        typer.Option(help="Evaluation to compare: the newest one (last) or the best checkpoint's (best)."),
    ] = "last",
    json: Json = False,
) -> None:
    """Compare jobs: held-out rewards with intervals, settings that differ, time, tokens and cost."""
    moment: Moment = "best" if at == "best" else "last"
    if at != moment:
        raise typer.BadParameter("last or best", param_hint="--at")
    with connect() as client:
        comparison = client.jobs.compare(jobs, at=moment)
    if json:
        print_json(comparison)
        return
    columns = ["job", "name", "state", "step", "before", "held-out", "change", "tokens", "took", "cost"]
    print_table(columns, [_line(job) for job in comparison.jobs], empty="no jobs")
    if comparison.settings:
        names = ["setting", *(job.id for job in comparison.jobs)]
        rows = [
            [setting.path, *(_text(value) for value in setting.values)] for setting in comparison.settings
        ]
        print_table(names, rows, empty="")
    else:
        out.print("The jobs have the same settings.")
    for job in comparison.jobs:
        if job.verdict is not None:
            out.print(job.verdict, markup=False, soft_wrap=True)
        for note in job.notes:
            out.print(f"  note  {note}", markup=False, soft_wrap=True)


def _line(job: ComparedJob) -> list[str]:
    return [
        job.id,
        job.name,
        job.status,
        str(job.step),
        number(job.held_out_before),
        _estimate(job.held_out),
        _estimate(job.difference, sign=True),
        number(job.completion_tokens, 0),
        duration(job.seconds),
        number(job.cost, 2),
    ]


def _estimate(estimate: HeldOutEstimate | None, *, sign: bool = False) -> str:
    if estimate is None:
        return "–"
    value = f"{estimate.value:+.3f}" if sign else f"{estimate.value:.3f}"
    return f"{value} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _text(value: Any) -> str:
    return "–" if value is None else str(value)
