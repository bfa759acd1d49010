"""Commands under `reinforge reward`, other than `golden` and `library`."""

import json as jsonlib
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.evaluation import train_attack
from reinforge.cli.evaluation.views import Columns, Template, reward_of, roles
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, err, number, out
from reinforge.dataset import ColumnRoles, PromptTemplate, item_of, iter_rows, numbers_of
from reinforge.dataset.prompts import unknown_column
from reinforge.errors import InvalidInput
from reinforge.jails import sandbox_words
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.reward_attack import MOST_ATTACK_ROWS, AttackReport

app = typer.Typer(help="Save and try rewards.", no_args_is_help=True)

Granularity = Annotated[str, typer.Option(help="What one call of the reward sees: sample, group or batch.")]
Entry = Annotated[str | None, typer.Option(help="Function to call, if the file has several.")]


@app.command()
def push(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="A .py file, or a grader as .json.")
    ],
    name: Annotated[str | None, typer.Option(help="Default: the file's name without its ending.")] = None,
    entry: Entry = None,
    granularity: Granularity = "sample",
    json: Json = False,
) -> None:
    """Store a reward. Changed code under an existing name becomes a new revision."""
    with connect() as client:
        reward = client.rewards.push(file, name=name, entry=entry, granularity=granularity)
    if json:
        output.print_json(reward)
        return
    newest = max(reward.revisions, key=lambda r: r.revision)
    entries = ", ".join(f"{e['name']} ({e['spelling']})" for e in newest.entries)
    err.print(f"{reward.name}, revision {newest.revision}: {entries}")
    out.print(reward.id)


@app.command("list")
def list_rewards(json: Json = False) -> None:
    """List the project's rewards."""
    with connect() as client:
        rewards = list(client.rewards.list())
    if json:
        output.print_json(rewards)
        return
    output.print_table(
        ["id", "name", "kind", "revision", "granularity", "changed"],
        ([r.id, r.name, r.kind, str(r.revision), r.granularity, output.ago(r.updated_at)] for r in rewards),
        empty="No rewards yet. Store one: reinforge reward push FILE.py",
    )


@app.command()
def test(
    reward: Annotated[
        str,
        typer.Argument(help="A .py file, a grader as .json, a stored reward (rew_…) or a ready one's name."),
    ],
    completion: Annotated[
        list[str] | None, typer.Option(help="A completion to score; repeat for more.")
    ] = None,
    item: Annotated[str | None, typer.Option(help="The completions' dataset row, as JSON.")] = None,
    dataset: Annotated[
        Path | None, typer.Option(exists=True, help="JSONL, CSV or Parquet to take rows from.")
    ] = None,
    rows: Annotated[int, typer.Option(help="Rows to take from the dataset.", min=1, max=256)] = 3,
    column: Columns = None,
    prompt_template: Template = None,
    entry: Entry = None,
    granularity: Granularity = "sample",
    json: Json = False,
) -> None:
    """Score completions in the sandbox; show parts, reason, prints, time, status. Exit 1 if one fails."""
    if item is not None and dataset is not None:
        raise InvalidInput("Give --item or --dataset, not both.", code="usage")
    if dataset is not None:
        cases = _cases_of_rows(completion or [""], dataset, rows, roles(column), prompt_template)
    else:
        cases = _cases(completion or [""], item)
    chosen = reward_of(reward)
    with connect() as client:
        answer = client.rewards.test(
            cases,
            id=chosen.get("reward"),
            source=chosen.get("source"),
            entry=entry,
            granularity=chosen.get("granularity", granularity),
        )
    if json:
        output.print_json(answer)
    elif answer.load_error:
        err.print(f"[red]does not load[/red]\n{escape(answer.load_error)}")
    else:
        for case, result in zip(cases, answer.results, strict=True):
            _print_result(case, result)
        how = f"scored ({sandbox_words(answer.jail)})" if answer.jail else "scored without code"
        err.print(how, style="dim")
    if answer.load_error or any(r.status not in ("ok", "not_applicable") for r in answer.results):
        raise typer.Exit(Exit.FAILED)


@app.command()
def attack(
    reward: Annotated[
        str,
        typer.Argument(help="A .py file, a grader as .json, a stored reward (rew_…) or a ready one's name."),
    ],
    dataset: Annotated[Path, typer.Option(exists=True, help="JSONL, CSV or Parquet to take rows from.")],
    rows: Annotated[int, typer.Option(help="Rows to try.", min=1, max=MOST_ATTACK_ROWS)] = MOST_ATTACK_ROWS,
    column: Columns = None,
    prompt_template: Template = None,
    right: Annotated[
        str | None, typer.Option(help="Text of a right completion; {answer} stands for the answer.")
    ] = None,
    entry: Entry = None,
    train: Annotated[
        bool,
        typer.Option(
            "--train", help="Also train the starter model on it for 30 steps, and report what it exploits."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Search for wrong completions that get a high reward. Exit 1 if there are any."""
    columns = roles(column)
    cases = _cases_of_rows([""], dataset, rows, columns, prompt_template)
    chosen = reward_of(reward)
    with connect() as client:
        report = client.rewards.attack(
            [{"item": case["item"], "prompt": case["prompt"]} for case in cases],
            id=chosen.get("reward"),
            source=chosen.get("source"),
            granularity=chosen.get("granularity"),
            entry=entry,
            right=right,
        )
        if not json:
            _print_report(report)
        trained = None
        if train and not report.load_error:
            if columns.answer is None and all("answer" in case["item"] for case in cases):
                columns = columns.model_copy(update={"answer": "answer"})
            spec = train_attack.spec_of(
                chosen, reward, dataset, columns=columns, template=prompt_template, entry=entry
            )
            trained = train_attack.train_attack(client, spec, quiet=json)
    if json:
        dumped = report.model_dump(mode="json")
        output.print_json(dumped | {"training": trained.model_dump(mode="json")} if trained else dumped)
    elif trained is not None:
        train_attack.print_attack(trained)
    if report.load_error or report.verdict == "broken" or (trained is not None and trained.broken):
        raise typer.Exit(Exit.FAILED)


def _print_report(report: AttackReport) -> None:
    if report.load_error:
        err.print(f"[red]does not load[/red]\n{escape(report.load_error)}")
        return
    colour = {"broken": "red", "holds": "green", "unknown": "yellow"}[report.verdict]
    out.print(f"[{colour}]{report.verdict}[/{colour}]  {escape(report.message)}")
    for finding in report.findings:
        if finding.implied_by is None:
            completion = finding.example.completion.replace("\n", "⏎")[:80]
            out.print(f"  {escape(finding.message)}")
            out.print(f"      reward {number(finding.example.value)}: {escape(completion) or '(empty)'}")
            out.print(f"      {escape(finding.fix)}", style="dim")
    for error in report.errors:
        completion = error.completion.replace("\n", "⏎")[:80]
        err.print(
            f"  fails on {escape(completion) or '(empty)'}: {escape(error.reason or '')}", style="yellow"
        )
    where = f" ({sandbox_words(report.jail)})" if report.jail else ""
    err.print(f"{report.completions} completions of {report.rows} rows scored{where}", style="dim")


def _cases(completions: list[str], item: str | None) -> list[dict[str, Any]]:
    try:
        row: dict[str, Any] = jsonlib.loads(item) if item else {}
    except ValueError as error:
        raise InvalidInput(f"--item is not JSON: {error}.", code="usage", param="item") from error
    return [
        {"completion": completion, "item": row, "prompt": str(row.get("prompt", ""))}
        for completion in completions
    ]


def _cases_of_rows(
    completions: list[str], dataset: Path, count: int, columns: ColumnRoles, template: str | None
) -> list[dict[str, Any]]:
    parsed = None if template is None else PromptTemplate.parse(template)
    cases = []
    for row in islice(iter_rows(dataset, numbers=numbers_of(dataset)), count):
        if columns.answer is not None and columns.answer not in row:
            raise unknown_column(columns.answer, row, "--column")
        prompt = str(row.get(columns.prompt or "prompt", "")) if parsed is None else parsed.render(row)
        item = item_of(row, columns)
        cases += [{"completion": completion, "item": item, "prompt": prompt} for completion in completions]
    return cases


def _print_result(case: dict[str, Any], result: RewardResult) -> None:
    completion = case["completion"].replace("\n", "⏎")[:80]
    good = result.status in ("ok", "not_applicable")
    state = f"[green]{result.status}[/green]" if good else f"[red]{result.status}[/red]"
    out.print(f"{number(result.value):>8}  {state}  {result.wall_ms:.1f} ms  {escape(completion)}")
    for name, value in {**result.parts, **result.criteria}.items():
        label = f"  {result.labels[name]}" if name in result.labels else ""
        out.print(f"          {escape(name)} = {number(value)}{escape(label)}")
    for name, status in result.part_status.items():
        out.print(f"          {escape(name)}  {status}")
    if "" in result.labels:
        out.print(f"          label {escape(result.labels[''])}")
    for judge, usage in result.usage.items():
        tokens = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
        out.print(f"          {escape(judge)}: {tokens:g} tokens, {usage.get('cost', 0):.4g}", style="dim")
    for text in (result.reason, result.message, result.prints.rstrip() or None):
        if text:
            out.print(f"          {escape(text)}", style="dim")
