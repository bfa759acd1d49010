"""Commands under `reinforge project`, `key` and `member`, and `reinforge usage`."""

from pathlib import Path
from typing import Annotated, cast

import typer

from reinforge.cli import output
from reinforge.cli.admin.budgets import KINDS, amount
from reinforge.cli.connection import connect
from reinforge.cli.output import Json, err, out
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, NotFound
from reinforge.schemas.keys import SCOPES, Role, Scope
from reinforge.schemas.members import Member

projects = typer.Typer(help="Create, list, export and delete projects.", no_args_is_help=True)
keys = typer.Typer(help="API keys of the project.", no_args_is_help=True)
members = typer.Typer(help="People of the project.", no_args_is_help=True)

Who = Annotated[str, typer.Argument(help="Id, name or e-mail address.")]
RoleOption = Annotated[str, typer.Option(help="viewer, editor or owner.")]


@projects.command("list")
def list_projects(json: Json = False) -> None:
    """List the projects that this key can access."""
    with connect() as client:
        all_projects = client.projects.list()
    output.listing(
        all_projects,
        ["id", "name", "role", "current"],
        lambda project: [project.id, project.name, project.role, "yes" if project.current else ""],
        empty="No projects.",
        json=json,
    )


@projects.command("create")
def create_project(name: Annotated[str, typer.Argument(help="Name of the project.")]) -> None:
    """Create a project and print an owner key for it, which is shown only once."""
    with connect() as client:
        project = client.projects.create(name, with_key=True)
    err.print(f"{project.name} is created. Its key is shown only now:")
    out.print(project.key)


@projects.command("rename")
def rename_project(
    id: Annotated[str, typer.Argument(help="Id of the project.")],
    name: Annotated[str, typer.Argument(help="The new name.")],
) -> None:
    """Rename a project."""
    with connect() as client:
        client.projects.rename(id, name)
    err.print(f"{id} is renamed to {name}")


@projects.command("require-card")
def require_card(
    id: Annotated[str, typer.Argument(help="Id of the project.")],
    conditions: Annotated[
        str | None,
        typer.Argument(help="Such as 'held_out_gain.low>0, witnesses=0'. Leave out to require nothing."),
    ] = None,
) -> None:
    """Set the conditions that a report card must meet for a promotion. Owners only."""
    with connect() as client:
        client.projects.require_card(id, conditions)
    err.print(f"Promotions require: {conditions or 'nothing'}", markup=False)


@projects.command("export")
def export_project(
    id: Annotated[str, typer.Argument(help="Id of the project.")],
    path: Annotated[Path, typer.Argument(help="Tar file to write.")],
) -> None:
    """Export all data of a project, including completions and evaluations but no secrets."""
    with connect() as client:
        client.projects.export(id, path)
    out.print(str(path))


@projects.command("delete")
def delete_project(
    id: Annotated[str, typer.Argument(help="Id of the project.")],
    name: Annotated[str, typer.Option(help="Name of the project, as confirmation.")],
) -> None:
    """Delete a project and all its data."""
    with connect() as client:
        client.projects.delete(id, name)
    err.print(f"{name} is deleted")


@keys.command("list")
def list_keys(json: Json = False) -> None:
    """List the active API keys."""
    with connect() as client:
        all_keys = client.keys.list()
    output.listing(
        all_keys,
        ["id", "name", "role", "scopes", "begins with", "made by", "expires"],
        lambda key: [
            key.id, key.name, "administrator" if key.administrator else key.role,
            " ".join(key.scopes or ["all"]), key.prefix, key.created_by or "", str(key.expires_at or "never"),
        ],
        empty="No keys.",
        json=json,
    )  # fmt: skip


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="Name of the key: what uses it.")],
    role: RoleOption = "editor",
    scope: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(SCOPES)}. Repeat for more; default: all.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="Days until the key expires; default: never.", min=1)
    ] = None,
    administrator: Annotated[
        bool,
        typer.Option("--administrator", help="With --role owner: the key may also administer the platform."),
    ] = False,
) -> None:
    """Create an API key and print its secret, which is shown only once."""
    scopes = cast("list[Scope] | None", scope or None)
    with connect() as client:
        key = client.keys.create(
            name, cast(Role, role), scopes=scopes, expires_in_days=days, administrator=administrator
        )
    err.print(f"{key.name} ({key.id}) is created. Its secret is shown only now:")
    out.print(key.key)


@keys.command("revoke")
def revoke_key(id: Annotated[str, typer.Argument(help="Id of the key.")]) -> None:
    """Revoke a key immediately."""
    with connect() as client:
        client.keys.revoke(id)
    err.print(f"{id} is revoked")


@keys.command("transfer")
def transfer_key(id: Annotated[str, typer.Argument(help="Id of the key.")], json: Json = False) -> None:
    """Take over another member's key, so that it keeps working when they are removed.

    The secret stays the same: anybody who has it can still use the key, limited to your rights.
    """
    with connect() as client:
        key = client.keys.transfer(id)
    output.result(key, f"{key.name} ({key.id}) is yours; its secret stays the same.", json=json)


@members.command("list")
def list_members(json: Json = False) -> None:
    """List the members of the project."""
    with connect() as client:
        all_members = client.members.list()
    output.listing(
        all_members,
        ["id", "name", "e-mail", "role"],
        lambda member: [member.id, member.name, member.email or "", member.role],
        empty="No members.",
        json=json,
    )


@members.command("invite")
def invite(
    name: Annotated[
        str | None,
        typer.Argument(help="A note on who is invited. The person who accepts chooses their own name."),
    ] = None,
    role: RoleOption = "editor",
    note: Annotated[str | None, typer.Option(help="Same as the argument NAME.")] = None,
) -> None:
    """Create an invitation for one person and print its address, which is shown only once."""
    with connect() as client:
        out.print(client.members.invite(cast(Role, role), note or name).url)


@members.command("reset-password")
def reset_password(who: Who) -> None:
    """Print a one-time address at which a member sets a new password."""
    with connect() as client:
        out.print(client.members.reset_password(_member(client, who).id).url)


@members.command("role")
def change_role(
    who: Who, role: Annotated[str, typer.Argument(help="viewer, editor or owner.")], json: Json = False
) -> None:
    """Change a member's role."""
    with connect() as client:
        member = client.members.change(_member(client, who).id, cast(Role, role))
    output.result(member, f"{member.name} is {member.role}", json=json)


@members.command("remove")
def remove_member(
    who: Who,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Remove nobody; only list the keys that would stop working.")
    ] = False,
) -> None:
    """Remove a member. Their keys stop working; to keep a key, run `reinforge key transfer` first."""
    with connect() as client:
        member = _member(client, who)
        ending = [key for key in client.keys.list() if key.maker == member.user]
        if not dry_run:
            client.members.remove(member.id)
    err.print(
        f"{member.name} ({member.id}) {'would be' if dry_run else 'is'} removed", markup=False, soft_wrap=True
    )
    for key in ending:
        ended = (
            f"would stop working; to keep it: reinforge key transfer {key.id}"
            if dry_run
            else "no longer works"
        )
        err.print(f"Key {key.name} ({key.id}) {ended}", markup=False, soft_wrap=True)


def _member(client: Reinforge, who: str) -> Member:
    """The member with this id, name or e-mail."""
    matches = [member for member in client.members.list() if who in (member.id, member.name, member.email)]
    hint = (
        "`reinforge member list` shows ids and names. People become members when they accept an invitation."
    )
    if not matches:
        raise NotFound(f"There is no member {who}.", code="member_not_found", param="who", hint=hint)
    if len(matches) > 1:
        raise InvalidInput(
            f"{len(matches)} members have the name or address {who}.",
            code="ambiguous_name",
            param="who",
            hint="Give the id of the member: `reinforge member list` shows all ids.",
        )
    return matches[0]


def usage(
    days: Annotated[int, typer.Option(help="Number of days, including today.", min=1, max=366)] = 30,
    json: Json = False,
) -> None:
    """Show the project's usage and budgets."""
    with connect() as client:
        report = client.usage.get(days)
    if json:
        output.print_json(report)
        return
    output.print_table(
        ["what", f"in {days} days"],
        ([KINDS.get(kind, kind), amount(kind, value)] for kind, value in report.totals.items()),
        empty="Nothing was used.",
    )
    if report.budgets:
        output.print_table(
            ["budget", "period", "used", "allowed"],
            (
                [KINDS.get(b.kind, b.kind), b.period, amount(b.kind, b.used), amount(b.kind, b.amount)]
                for b in report.budgets
            ),
            empty="",
        )
