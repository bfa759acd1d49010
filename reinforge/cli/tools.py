"""Commands `reinforge tools schema` and `reinforge tools try`."""

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, err, out
from reinforge.errors import InvalidInput
from reinforge.jails import sandbox_words
from reinforge.parsing.python_source import read_source
from reinforge.schemas.tools import ToolRunCallResult
from reinforge.tools import ToolSchema

app = typer.Typer(help="Try tools of an environment.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .py file of functions.")]
IsClass = Annotated[bool, typer.Option("--class", help="The file defines an environment class.")]


@app.command("schema")
def schema(file: File, is_class: IsClass = False, json: Json = False) -> None:
    """Print each tool's name, parameters and description. Exit 1 if the source has a problem."""
    with connect() as client:
        checked = client.tools.check([_source(file, is_class)])
    if json:
        output.print_json(checked)
    for problem in [] if json else checked.problems:
        where = f"{file.name}, line {problem.line}" if problem.line else file.name
        err.print(f"[red]{escape(where)}[/red]: {escape(problem.message)} {escape(problem.hint or '')}")
    for entry in [] if json else checked.tools:
        _print_schema(entry.tool)
    if not checked.ok:
        raise typer.Exit(Exit.FAILED)


@app.command("try")
def try_call(
    file: File,
    name: Annotated[str, typer.Argument(help="The tool to call.")],
    arguments: Annotated[str, typer.Argument(help="The tool's arguments, as a JSON object.")] = "{}",
    item: Annotated[str, typer.Option(help="The row of the dataset, as JSON.")] = "{}",
    is_class: IsClass = False,
    model: Annotated[
        str | None, typer.Option(help="Base model whose tokenizer limits the result's length, as in a job.")
    ] = None,
    json: Json = False,
) -> None:
    """Run one tool call in the sandbox and print status, result, time and output. Exit 1 if it fails."""
    row, values = _object(item, "--item"), _object(arguments, "the arguments")
    environment = {"type": "tools", "sources": [_source(file, is_class)]}
    options = {} if model is None else {"model": model}
    with connect() as client:
        result = client.tools.run(environment, [(name, values)], item=row, **options)
    [call] = result.calls
    if json:
        output.print_json(result)
    else:
        _print_call(call)
        err.print(f"ran ({sandbox_words(result.jail)})" if result.jail else "did not run", style="dim")
    if call.status != "ok":
        raise typer.Exit(Exit.FAILED)


def _source(file: Path, is_class: bool) -> dict[str, Any]:
    return {"type": "class" if is_class else "python", "source": read_source(file)}


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        value = jsonlib.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{what}: not JSON: {error}.", code="usage") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{what}: not a JSON object.", code="usage")
    return value


def _print_schema(tool: ToolSchema) -> None:
    parameters = tool.function.parameters
    required = set(parameters.get("required", []))
    names = [name if name in required else f"{name}?" for name in parameters.get("properties", {})]
    out.print(f"{escape(tool.name)}({escape(', '.join(names))})")
    out.print(f"    {escape(tool.function.description)}", style="dim")


def _print_call(call: ToolRunCallResult) -> None:
    colour = "green" if call.status == "ok" else "red"
    err.print(f"[{colour}]{call.status}[/{colour}]  {call.milliseconds:.1f} ms{', cut' if call.cut else ''}")
    out.print(escape(call.result))
    if call.detail:
        err.print(escape(call.detail.rstrip()), style="dim")
