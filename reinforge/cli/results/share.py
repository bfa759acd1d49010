"""Commands `reinforge job export`, `share`, `shares` and `unshare`."""

import re
from pathlib import Path
from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, err, out

app = typer.Typer()


@app.command("export")
def export_job(
    id: JobId,
    to: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; default: the job's name with .html.")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, max=50, help="Number of prompts whose completions the file contains.")
    ] = 8,
) -> None:
    """Write the job as one HTML file: verdict, charts, held-out table, configuration, notes, sample completions."""
    with connect() as client:
        if to is None:
            name = re.sub(r"[^\w .-]+", "_", client.jobs.get(id).name).strip(" .") or id
            to = Path(f"{name}.html")
        written = client.jobs.export(id, to, samples=samples)
    if samples:
        err.print("The file contains prompts and completions of the job.")
    out.print(str(written), markup=False, soft_wrap=True)


@app.command("share")
def share_job(
    id: JobId,
    samples: Annotated[
        int, typer.Option(min=0, max=50, help="Number of prompts whose completions the link shows.")
    ] = 0,
    days: Annotated[
        int | None, typer.Option(min=1, help="Days until the link expires. Default: valid until revoked.")
    ] = None,
    json: Json = False,
) -> None:
    """Create a link that shows the job without sign-in: verdict, charts, held-out table, configuration, notes."""
    with connect() as client:
        link = client.jobs.share(id, samples=samples, expires_in_days=days)
    if json:
        output.print_json(link)
        return
    err.print("Everybody who has this link can read the job. It is not printed again.")
    out.print(link.url, markup=False, soft_wrap=True)


@app.command("shares")
def list_shares(id: JobId, json: Json = False) -> None:
    """List the share links of a job."""
    with connect() as client:
        shares = client.jobs.shares(id)
    if json:
        output.print_json([share.model_dump(mode="json") for share in shares])
        return
    output.print_table(
        ["id", "prompts", "by", "expires", "active"],
        (
            [
                share.id,
                str(share.samples),
                share.created_by,
                share.expires_at.date().isoformat() if share.expires_at else "never",
                "yes" if share.active else "no",
            ]
            for share in shares
        ),
        empty="The job has no links.",
    )


@app.command("unshare")
def revoke_share(
    id: JobId, share: Annotated[str, typer.Argument(help="Id of the link, as `shares` lists it.")]
) -> None:
    """Revoke a link of a job."""
    with connect() as client:
        client.jobs.revoke_share(id, share)
