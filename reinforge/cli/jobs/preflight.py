"""Command `reinforge preflight`."""

from pathlib import Path
from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.admin.serve import need
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.defaults import push_parts
from reinforge.cli.output import Json, duration, err, out
from reinforge.errors import JobFailure
from reinforge.offline import jobfile
from reinforge.preflight import PreflightReport
from reinforge.preflight.report import Range
from reinforge.spec import JobSpec

COLOURS = {"go": "green", "caution": "yellow", "stop": "red"}
BAR = 24


def preflight(
    file: Annotated[Path, typer.Argument(help="Job file (YAML or JSON).")],
    server: Annotated[
        bool, typer.Option("--server", help="Run it on a worker of the server, not on this machine.")
    ] = False,
    json: Json = False,
) -> None:
    """Sample and score a few steps without training; show pass rates, costs, verdict. Exit 1 on `stop`."""
    from reinforge.preflight.offline import preflight as run

    spec = jobfile.load(file)
    if not server:
        need("worker")
    report = _on_server(spec) if server else run(spec)
    if json:
        output.print_json(report)
    else:
        show(report)
    if report.verdict == "stop":
        raise typer.Exit(Exit.FAILED)


def _on_server(spec: JobSpec) -> PreflightReport:
    with connect() as client:
        started = client.preflights.create(push_parts(client, spec))
        try:
            with err.status(f"{started.id} runs on {client.base_url}"):
                ended = client.preflights.wait(started.id)
        except KeyboardInterrupt:
            client.preflights.cancel(started.id)
            raise
    if ended.report is None:
        fault = ended.error
        raise JobFailure(
            fault.message if fault else f"The pre-flight is {ended.status}: {ended.reason}.",
            code=fault.code if fault else "preflight_failed",
            hint=fault.hint if fault else None,
        )
    return ended.report


def show(report: PreflightReport) -> None:
    out.print(f"\n[bold {COLOURS[report.verdict]}]{report.verdict.upper()}[/]  {report.completions:,} completions of "
              "the base model, sampled and scored as the job would")  # fmt: skip
    for reason in report.reasons:
        colour = COLOURS[reason.severity]
        out.print(f"  [{colour}]{reason.severity}[/]  {reason.message} {reason.hint}", soft_wrap=True)
    groups = report.groups
    out.print()
    _line("reward", f"{output.number(report.reward_mean)} ± {output.number(report.reward_std)}")
    _line("passes", ", ".join(f"@{k} {share:.0%}" for k, share in report.passes.pass_at.items()))
    _line(
        "groups",
        f"{groups.all_right:.0%} all right, {groups.mixed:.0%} mixed, {groups.all_wrong:.0%} all wrong",
    )
    _line("useful", f"{groups.useful:.0%} of groups, about {report.useful_batch:.0f} completions a step")
    _histogram(report)
    _line("tokens", f"{report.tokens.expected:.0f} on average, a twentieth above {report.tokens.high:.0f}; "
                    f"{report.truncated_share:.0%} cut off")  # fmt: skip
    if report.reward_ms is not None:
        _line(
            "reward time",
            f"{report.reward_ms.low:.1f} ms median, {report.reward_ms.high:.1f} ms 95th percentile",
        )
    _line("reward errors", f"{report.error_share:.1%}")
    _line("a step", duration(report.seconds_per_step) if report.seconds_per_step > 10
          else f"{report.seconds_per_step:.2f} s")  # fmt: skip
    _line("the job", _hours(report.hours))
    _line("memory", f"{report.memory_gib.expected:.2f} GiB, up to {report.memory_gib.high:.2f} GiB on "
                    f"{report.device}")  # fmt: skip
    for suggestion in report.suggestions:
        value, before = f"{suggestion.value:g}", f"{suggestion.instead_of:g}"
        out.print(
            f"\n[bold]{suggestion.field}: {value}[/] instead of {before}. {suggestion.why}", soft_wrap=True
        )
    for note in report.notes:
        out.print(f"\n[dim]note[/dim]  {note}", soft_wrap=True)


def _line(name: str, text: str) -> None:
    out.print(f"{name:>14}  {text}", soft_wrap=True)


def _histogram(report: PreflightReport) -> None:
    rows = report.passes.histogram
    most = max(rows, default=0) or 1
    for right, count in enumerate(rows):
        bar = "█" * round(BAR * count / most) or ("▏" if count else "")
        out.print(f"{right:>10}/{len(rows) - 1:<3}  {bar} {count}", highlight=False)


def _hours(hours: Range) -> str:
    return f"{duration(3600 * hours.expected)}, up to {duration(3600 * hours.high)} if completions grow to the limit"
