"""Command `reinforge job card`."""

from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, err, out
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput
from reinforge.report_card.manifest import verify
from reinforge.report_card.markdown import markdown
from reinforge.schemas.report_card import CardFormat, CardManifest, CardRequirement

app = typer.Typer()
FILES: dict[str, CardFormat] = {
    "card.json": "json",
    "card.md": "md",
    "card.html": "html",
    "manifest.json": "manifest",
}
_BY_SUFFIX: dict[str, CardFormat] = {".json": "json", ".md": "md", ".html": "html", ".htm": "html"}


@app.command("card")
def job_card(
    id: JobId,
    to: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write; with --format all a folder. Default: print it."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="json, html, md, manifest or all; default: by the file's name.")
    ] = None,
    step: Annotated[
        int | None, typer.Option(min=0, help="Step of an evaluation. Default: the newest.")
    ] = None,
    slice: Annotated[
        str | None, typer.Option(help="Column that divides the rows into slices. Default: the job's.")
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(help="Conditions such as 'held_out_gain>0.02, witnesses=0'; exit 3 if one is not met."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--verify", help="Verify the files and the signature in this folder instead."),
    ] = None,
    json: Json = False,
) -> None:
    """Show a job's report card: adapter against base on held-out rows, losses, signs of reward hacking."""
    with connect() as client:
        if check is not None:
            _verify(client, id, check)
            return
        chosen = _format(format, to, json=json)
        if to is not None:
            targets = {to / name: file for name, file in FILES.items()} if chosen == "all" else {to: chosen}
            for path, file_format in targets.items():
                client.jobs.save_card(id, path, format=file_format, step=step, slice=slice)
                out.print(str(path), markup=False, soft_wrap=True)
        if to is not None and require is None:
            return
        card = client.jobs.card(id, step=step, slice=slice, require=require)
    if to is None and chosen == "json":
        output.print_json(card)
    elif to is None:
        out.print(markdown(card), markup=False, highlight=False, soft_wrap=True)
    if card.requirement is not None:
        report_requirement(card.requirement)


def _format(format: str | None, to: Path | None, *, json: bool) -> CardFormat | Literal["all"]:
    if format is None:
        format = "json" if json else _BY_SUFFIX.get(to.suffix.lower(), "html") if to is not None else "md"
    if format not in ("json", "html", "md", "manifest", "all"):
        raise InvalidInput("--format must be json, html, md, manifest or all.", code="usage")
    if to is None and format not in ("json", "md"):
        raise InvalidInput(f"--format {format} needs --out.", code="usage")
    return cast(CardFormat, format)


def report_requirement(requirement: CardRequirement) -> None:
    """Exits with 3 if a condition is not met."""
    for condition in requirement.conditions:
        word = "[green]met[/green]" if condition.met else "[red]not met[/red]"
        err.print(f"{word}  ", end="")
        err.print(f"{condition.condition}: {condition.message}", markup=False, soft_wrap=True)
    if not requirement.met:
        raise typer.Exit(Exit.GATE)


def _verify(client: Reinforge, id: str, folder: Path) -> None:
    manifest = CardManifest.model_validate_json(_read(folder / "manifest.json"))
    if manifest.subject.job != id:
        raise InvalidInput(f"The card is about {manifest.subject.job}, not {id}.", code="another_job")
    files = {name: _read(folder / name) for name in manifest.files}
    verify(manifest, files, public_key=client.jobs.card_manifest(id).public_key)
    err.print("The files are those that this installation signed.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror}",
            code="file_not_readable",
            hint="Write the files with `reinforge job card JOB --format all --out FOLDER`.",
        ) from error
