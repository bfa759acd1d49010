"""Commands `reinforge promote` and `reinforge alias`."""

from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, err, out
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, StateConflict

app = typer.Typer(
    help="Aliases such as production: names that can be moved from one adapter to another.",
    no_args_is_help=True,
)
Name = Annotated[str, typer.Argument(help="The alias, such as production.")]


def promote(
    adapter: Annotated[
        str, typer.Argument(help="An adapter (adp_…), another alias, or a job (ftjob-…: its adapter).")
    ],
    to: Annotated[str, typer.Option(help="The alias; created if it does not exist.")],
    require: Annotated[
        str | None,
        typer.Option("--require-card", help="Conditions on the report card, such as 'held_out_gain>0.02'."),
    ] = None,
    json: Json = False,
) -> None:
    """Point an alias at an adapter. Exit 3 if its report card does not meet the conditions."""
    with connect() as client:
        try:
            alias = client.adapters.promote(_adapter_of(client, adapter), to=to, require=require)
        except StateConflict as error:
            if error.code != "card_not_passed":
                raise
            output.print_error(error)
            raise typer.Exit(Exit.GATE) from None
    if json:
        output.print_json(alias)
    else:
        err.print(
            f"{alias.name} points to {alias.adapter} ({alias.adapter_name}, step {alias.step})", markup=False
        )


def _adapter_of(client: Reinforge, id: str) -> str:
    if not id.startswith("ftjob-"):
        return id
    adapter = client.jobs.get(id).adapter
    if adapter is None:
        raise InvalidInput(
            f"{id} has no adapter.", code="no_adapter", hint="A job has an adapter once it has succeeded."
        )
    return adapter


@app.command("list")
def list_aliases(json: Json = False) -> None:
    """List the aliases of the project."""
    with connect() as client:
        aliases = client.adapters.aliases()
    if json:
        output.print_json(aliases)
        return
    output.print_table(
        ["alias", "adapter", "name", "step", "model", "by", "since"],
        (
            [
                alias.name,
                alias.adapter,
                alias.adapter_name,
                str(alias.step),
                alias.model,
                alias.updated_by or "",
                output.ago(alias.updated_at),
            ]
            for alias in aliases
        ),
        empty="No aliases yet: reinforge promote ADAPTER --to production creates one.",
    )


@app.command("history")
def alias_history(name: Name, json: Json = False) -> None:
    """List the changes of an alias, newest first."""
    with connect() as client:
        changes = client.adapters.alias_history(name)
    if json:
        output.print_json(changes)
        return
    output.print_table(
        ["when", "adapter", "before", "by", "card"],
        (
            [
                change.created_at.isoformat(timespec="seconds"),
                change.adapter or "deleted",
                change.previous or "–",
                change.created_by or "",
                change.requirement.text if change.requirement else "–",
            ]
            for change in changes
        ),
        empty="The alias has never changed.",
    )


@app.command("delete")
def delete_alias(name: Name) -> None:
    """Delete an alias; the adapter stays."""
    with connect() as client:
        client.adapters.delete_alias(name)
    out.print(name, markup=False)
