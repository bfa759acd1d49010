"""Commands under `reinforge reward golden`."""

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import TypeAdapter, ValidationError
from rich.markup import escape

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, err, number, out
from reinforge.errors import InvalidInput
from reinforge.evaluation.golden import GoldenCase, GoldenOutcome, junit, outcomes, rows_of
from reinforge.parsing.python_source import read_source

app = typer.Typer(help="Manage and run the golden cases of a reward.", no_args_is_help=True)
RewardId = Annotated[str, typer.Argument(help="Id of a stored reward (rew_…).")]
CASES: TypeAdapter[list[GoldenCase]] = TypeAdapter(list[GoldenCase])


@app.command("list")
def list_cases(reward: RewardId, json: Json = False) -> None:
    """List the golden cases of a stored reward, oldest first."""
    with connect() as client:
        cases = client.rewards.golden_cases(reward)
    if json:
        output.print_json(cases)
        return
    output.print_table(
        ["id", "expects", "completion", "note"],
        ([case.id, str(case.expect), _short(case.completion), case.note or ""] for case in cases),
        empty=f"No golden cases yet. Add one: reinforge reward golden add {reward} --completion … --value 1",
    )


@app.command()
def add(
    reward: RewardId,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", exists=True, help="YAML or JSON: a list of cases.")
    ] = None,
    completion: Annotated[str | None, typer.Option(help="The completion to score.")] = None,
    item: Annotated[str, typer.Option(help="The completion's dataset row, as JSON.")] = "{}",
    value: Annotated[float | None, typer.Option(help="Reward that the completion must get.")] = None,
    least: Annotated[float | None, typer.Option(help="Lowest reward that it may get.")] = None,
    most: Annotated[float | None, typer.Option(help="Highest reward that it may get.")] = None,
    above: Annotated[
        str | None, typer.Option(help="Another completion, which must get a lower reward.")
    ] = None,
    not_applicable: Annotated[bool, typer.Option(help="The completion must get no reward.")] = False,
    note: Annotated[str | None, typer.Option(help="What the case tests.")] = None,
    json: Json = False,
) -> None:
    """Add golden cases to a stored reward: one from options, or all of a file."""
    if (file is None) == (completion is None):
        raise InvalidInput("Give either --file or --completion.", code="usage")
    if file is not None:
        cases = read_cases(file)
    else:
        expect = {
            "value": value,
            "least": least,
            "most": most,
            "above": above,
            "not_applicable": not_applicable,
        }
        raw = [{"item": _json(item), "completion": completion, "expect": expect, "note": note}]
        cases = _valid(raw, "the options")
    with connect() as client:
        added = client.rewards.add_golden_cases(reward, cases)
    if json:
        output.print_json(added)
    else:
        for case in added:
            out.print(case.id)


@app.command()
def remove(reward: RewardId, case: Annotated[str, typer.Argument(help="Id of a case (gold_…).")]) -> None:
    """Delete a golden case."""
    with connect() as client:
        client.rewards.remove_golden_case(reward, case)


@app.command()
def run(
    reward: Annotated[str, typer.Argument(help="Id of a stored reward (rew_…), or a .py file.")],
    cases: Annotated[
        Path | None, typer.Option(exists=True, help="YAML or JSON with cases; needed with a .py file.")
    ] = None,
    granularity: Annotated[
        str, typer.Option(help="What one call of a .py file's reward sees: sample, group or batch.")
    ] = "sample",
    report: Annotated[Path | None, typer.Option("--junit", help="Write a JUnit report here.")] = None,
    json: Json = False,
) -> None:
    """Run golden cases in a worker's sandbox. Exit 1 unless all pass."""
    stored = reward.startswith("rew_") and not Path(reward).exists()
    golden_cases, results, load_error = _run_stored(reward) if stored and cases is None else _run_from_file(
        reward, stored, cases, granularity
    )  # fmt: skip
    if load_error is not None:
        err.print(f"[red]does not load[/red]\n{escape(load_error)}")
        raise typer.Exit(Exit.FAILED)
    if report is not None:
        report.write_text(junit(reward, golden_cases, results), encoding="utf-8")
    if json:
        output.print_json(results)
    else:
        _show(golden_cases, results)
    if not all(result.passed for result in results):
        raise typer.Exit(Exit.FAILED)


def read_cases(path: Path) -> list[GoldenCase]:
    """Read a YAML or JSON list of golden cases. Raises InvalidInput with the location of a fault."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", code="invalid_cases", param="--file") from error
    return _valid(raw, str(path))


def _valid(raw: Any, where: str) -> list[GoldenCase]:
    try:
        return CASES.validate_python(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"{where}: {place}: {first['msg']}" if place else f"{where}: {first['msg']}",
            code="invalid_cases",
            hint="A case is {item, completion, expect: {value | least, most | above | not_applicable}}.",
        ) from error


def _run_stored(reward: str) -> tuple[list[GoldenCase], list[GoldenOutcome], str | None]:
    with connect() as client:
        stored_cases = client.rewards.golden_cases(reward)
        if not stored_cases:
            raise InvalidInput(
                f"{reward} has no golden cases.",
                code="no_golden_cases",
                hint=f"Add one: reinforge reward golden add {reward} --completion … --value 1",
            )
        report = client.rewards.run_golden_cases(reward)
    plain = [
        GoldenCase(
            item=case.item, prompt=case.prompt, completion=case.completion, expect=case.expect, note=case.note
        )
        for case in stored_cases
    ]
    return plain, [result.outcome for result in report.results], report.load_error


def _run_from_file(
    reward: str, stored: bool, path: Path | None, granularity: str
) -> tuple[list[GoldenCase], list[GoldenOutcome], str | None]:
    if path is None:
        raise InvalidInput("A .py file has no golden cases: give --cases.", code="usage", param="--cases")
    cases = read_cases(path)
    source = None if stored else read_source(reward, "reward")
    with connect() as client:
        answer = client.rewards.test(
            rows_of(cases), id=reward if stored else None, source=source, granularity=granularity
        )
    if answer.load_error is not None:
        return cases, [], answer.load_error
    return cases, outcomes(cases, answer.results), None


def _show(cases: list[GoldenCase], results: list[GoldenOutcome]) -> None:
    for case, outcome in zip(cases, results, strict=True):
        mark = "[green]ok[/green]  " if outcome.passed else "[red]fail[/red]"
        out.print(f"{mark}  {number(outcome.value):>8}  {escape(case.note or _short(case.completion))}")
        if outcome.message:
            out.print(f"                {escape(outcome.message)}", style="dim")
    passed = sum(result.passed for result in results)
    err.print(f"{passed} of {len(results)} pass", style="dim")


def _json(text: str) -> Any:
    try:
        return jsonlib.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--item is not JSON: {error}.", code="usage", param="item") from error


def _short(text: str) -> str:
    return text.replace("\n", "⏎")[:60]
