"""Commands under `reinforge reward library`."""

import json as jsonlib
import shlex
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from reinforge.cli import output
from reinforge.cli.output import Json, err, out
from reinforge.errors import InvalidInput
from reinforge.reward_library import fill, library, portable, ready_reward
from reinforge.schemas.rewards import RewardTemplate

app = typer.Typer(help="Ready rewards: run them as they are, or start from one. No server is needed.")

RewardId = Annotated[
    str, typer.Argument(help="Id of a ready reward: see `reinforge reward library list`.", show_default=False)
]


@app.command("list")
def list_rewards(json: Json = False) -> None:
    """List the ready-made rewards by group."""
    if json:
        output.print_json(list(library()))
        return
    rows = [
        [reward.id, reward.title, group, ", ".join(reward.columns)]
        for group, members in groupby(library(), key=lambda reward: reward.group)
        for reward in members
    ]
    output.print_table(["id", "title", "group", "columns"], rows, empty="")
    err.print("Take one: reinforge reward library use ID", style="dim")


@app.command()
def show(id: RewardId, json: Json = False) -> None:
    """Show a ready-made reward: description, limits, parameters and source."""
    chosen = ready_reward(id)
    if json:
        output.print_json(chosen)
        return
    _line(f"{chosen.title} ({chosen.id}, {chosen.group})\n")
    _line(f"{chosen.description}\n")
    for limit in chosen.limits:
        _line(f"limit       {limit}")
    _line(f"columns     {', '.join(chosen.columns) or 'none'}")
    if chosen.optional_columns:
        _line(f"may have    {', '.join(chosen.optional_columns)}")
    if chosen.granularity != "sample":
        _line(f"sees        a whole {chosen.granularity}")
    for parameter in chosen.parameters:
        default = jsonlib.dumps(parameter.default, ensure_ascii=False)
        _line(
            f"parameter   {parameter.name} = {default if len(default) < 60 else '…'}  {parameter.meaning}".rstrip()
        )
    _line(f"\n{chosen.source}".rstrip())


@app.command()
def use(
    id: RewardId,
    file: Annotated[
        Path | None, typer.Argument(help="File to write; default: ID.py, or ID.yaml for a grader.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set a parameter: NAME=VALUE, the value as JSON or text."),
    ] = None,
    cases: Annotated[
        bool, typer.Option("--cases", help="Also write its golden cases, to a file beside it.")
    ] = False,
) -> None:
    """Write a reward's source to a new file, to push, test or edit. Existing files are never overwritten."""
    chosen = ready_reward(id)
    python = chosen.type == "python"
    path = file or Path(f"{id}.{'py' if python else 'yaml'}")
    settings = dict(_setting(option) for option in set or [])
    if settings and not python:
        raise InvalidInput(
            f"--set works only for Python rewards. {id} is YAML: edit the written file.",
            code="usage",
            param="set",
        )
    _write(path, fill(chosen.source, settings) if python else chosen.source)
    if not python:
        err.print("Insert it into a job file, under `rewards`.", style="dim")
        out.print(str(path), markup=False, soft_wrap=True)
        return
    if cases:
        cases_path = path.with_suffix(".golden.yaml")
        golden_cases = [case.model_dump(mode="json", exclude_defaults=True) for case in portable(id)]
        _write(cases_path, yaml.safe_dump(golden_cases, allow_unicode=True, sort_keys=False, width=110))
        err.print(
            f"Its cases: reinforge reward golden run {path} --cases {cases_path}{_extra(chosen)}",
            markup=False,
            style="dim",
        )
    err.print(f"Try it: {_trial(chosen, path)}", markup=False, soft_wrap=True, style="dim")
    out.print(str(path), markup=False, soft_wrap=True)


def _trial(chosen: RewardTemplate, path: Path) -> str:
    item = jsonlib.dumps(chosen.example_item, ensure_ascii=False)
    return (
        f"reinforge reward test {path}{_extra(chosen)} --item {shlex.quote(item)} "
        f"--completion {shlex.quote(chosen.example_completions[0])}"
    )


def _extra(chosen: RewardTemplate) -> str:
    return f" --granularity {chosen.granularity}" if chosen.granularity != "sample" else ""


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"--set {text!r} is not NAME=VALUE.", code="usage", param="set")
    try:
        return name.strip(), jsonlib.loads(value)
    except ValueError:
        return name.strip(), value


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise InvalidInput(
            f"{path} exists already; name another file.", code="file_exists", param="file"
        ) from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.", code="file_unwritable") from error


def _line(text: str) -> None:
    out.print(text, markup=False, soft_wrap=True)
