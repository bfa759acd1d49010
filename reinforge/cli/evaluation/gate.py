"""Command `reinforge gate`."""

from pathlib import Path
from typing import Annotated, Any
from xml.etree import ElementTree

import typer

from reinforge import settings
from reinforge.cli import output
from reinforge.cli.evaluation import baselines
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, err
from reinforge.cli.release.card_gate import card_gate
from reinforge.errors import InvalidInput
from reinforge.evaluation.summary import Condition, GateReport
from reinforge.evaluation.summary import gate as judge


def gate(
    evaluation: Annotated[
        str,
        typer.Argument(
            help="An evaluation (eval_…), or a file of `reinforge eval --out`; with --require-card a job (ftjob-…) "
            "or its card.json."
        ),
    ],
    metric: Annotated[
        str, typer.Option(help="eval/reward, eval/pass_rate or eval/pass_any.")
    ] = "eval/reward",
    least: Annotated[float | None, typer.Option("--min", help="Minimum of the metric.")] = None,
    max_regression: Annotated[
        float | None, typer.Option(help="How far the metric may be below the baseline's.", min=0)
    ] = None,
    min_improvement: Annotated[
        float | None, typer.Option(help="How far the metric must be above the baseline's.", min=0)
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="An evaluation (eval_…), a file, or a name: its newest on the same dataset."),
    ] = None,
    baseline_optional: Annotated[
        bool,
        typer.Option("--baseline-optional", help="If no evaluation has the baseline's name, do not compare."),
    ] = False,
    confidence: Annotated[
        float,
        typer.Option(help="One-sided confidence; 0.5 compares the estimates themselves.", min=0.5, max=0.999),
    ] = 0.95,
    max_errors: Annotated[
        float, typer.Option(help="Maximum share of completions without a score.", min=0, max=1)
    ] = 0.05,
    require_card: Annotated[
        str | None,
        typer.Option(help="Conditions on a job's report card, such as 'held_out_gain.low>0, witnesses=0'."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit report here.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Append the result as Markdown here.")] = None,
    json: Json = False,
) -> None:
    """Check an evaluation (minimum, baseline) or a job's report card. Exit 3 if a condition is not met."""
    _check_usage(least, max_regression, min_improvement, baseline, require_card)
    if require_card is not None:
        report = card_gate(evaluation, require_card)
    else:
        report = _judged(
            evaluation, baseline, baseline_optional, metric=metric, confidence=confidence, least=least,
            max_regression=max_regression, min_improvement=min_improvement, max_errors=max_errors,
        )  # fmt: skip
    if junit is not None:
        junit.write_text(as_junit(report), encoding="utf-8")
    if summary is not None:
        with summary.open("a", encoding="utf-8") as file:
            file.write(as_markdown(report))
    if json:
        output.print_json(report)
    _show(report)
    if not report.met:
        raise typer.Exit(Exit.GATE)


def _judged(
    evaluation: str, baseline: str | None, optional: bool, *, metric: str, **limits: Any
) -> GateReport:
    new = baselines.result(evaluation)
    old = None if baseline is None else baselines.baseline(baseline, new.about, optional=optional)
    scores = None if old is None else old.scores
    report = judge(new.scores, metric=metric, pass_above=new.pass_above, baseline=scores, **limits)
    if old is not None:
        report.baseline = old.about.id
        report.notes += baselines.differences(old.about, new.about)
    elif baseline is not None:
        report.notes.append(f"There is no baseline {baseline!r} yet, so nothing was compared.")
    return report


def _check_usage(
    least: float | None,
    max_regression: float | None,
    min_improvement: float | None,
    baseline: str | None,
    require_card: str | None,
) -> None:
    if require_card is not None:
        if least is not None or baseline is not None:
            raise InvalidInput("--require-card cannot be used with --min or --baseline.", code="usage")
        return
    change = "--max-regression" if max_regression is not None else "--min-improvement"
    compares = max_regression is not None or min_improvement is not None
    if compares and baseline is None:
        raise InvalidInput(f"{change} needs a --baseline.", code="usage")
    if baseline is not None and not compares:
        raise InvalidInput(
            "--baseline needs --max-regression or --min-improvement.",
            code="usage",
            hint="--max-regression 0 allows no loss; --min-improvement 0.1 requires 0.1 more than the baseline.",
        )
    if least is None and not compares:
        raise InvalidInput(
            "Give --min, --max-regression or --min-improvement with --baseline, or --require-card.",
            code="usage",
        )


def _show(report: GateReport) -> None:
    for condition in report.conditions:
        word = "[green]met[/green]" if condition.met else "[red]not met[/red]"
        err.print(f"{word}  {condition.message}", soft_wrap=True)
        if not condition.met and settings.runs_in_github_actions():
            err.print(f"::error title=reinforge gate::{condition.message}", markup=False, soft_wrap=True)
    for note in report.notes:
        if settings.runs_in_github_actions():
            err.print(f"::notice title=reinforge gate::{note}", markup=False, soft_wrap=True)
        err.print(f"[yellow]note[/yellow]  {note}", soft_wrap=True)


def as_junit(report: GateReport) -> str:
    """JUnit XML with a test case per condition and the notes as system-out."""
    failures = sum(not condition.met for condition in report.conditions)
    root = ElementTree.Element(
        "testsuite",
        name=f"reinforge gate {report.metric}",
        tests=str(len(report.conditions)),
        failures=str(failures),
        errors="0",
    )
    for condition in report.conditions:
        case = ElementTree.SubElement(root, "testcase", classname=report.metric, name=condition.name)
        if not condition.met:
            ElementTree.SubElement(case, "failure", message=condition.message).text = condition.message
    if report.notes:
        ElementTree.SubElement(root, "system-out").text = "\n".join(report.notes)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def as_markdown(report: GateReport) -> str:
    lines = [
        f"### {'✅' if report.met else '❌'} reinforge gate: {report.metric}",
        "",
        "| condition | measured | bound | required | |",
        "|---|---|---|---|---|",
        *(_row(condition) for condition in report.conditions),
        "",
        "\n>\n".join(f"> {note}" for note in report.notes),
    ]
    return "\n".join(lines) + "\n\n"


def _row(condition: Condition) -> str:
    word = "met" if condition.met else "**not met**"
    value, bound = (
        "–" if number is None else f"{number:.4f}" for number in (condition.value, condition.bound)
    )
    return f"| {condition.name} | {value} | {bound} | {condition.required:g} | {word} |"
