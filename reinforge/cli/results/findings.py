"""Command `reinforge job findings`."""

import json as json_format
import shlex
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, out
from reinforge.diagnosis.finding import EvidenceNumber, Remedy
from reinforge.diagnosis.formats import format_number
from reinforge.errors import InvalidInput
from reinforge.schemas.findings import FindingEntry

app = typer.Typer()


LONGEST_COMMAND = 200
"""Maximum characters of a remedy's command; a longer command is replaced by one with `--apply`."""


@app.command()
def findings(
    id: JobId,
    apply: Annotated[
        str | None, typer.Option("--apply", metavar="CODE", help="Apply the first remedy of this finding.")
    ] = None,
    json: Json = False,
) -> None:
    """List a job's problems, most important first, with evidence and the commands that remedy them."""
    with connect() as client:
        entries = client.jobs.findings(id)
        if apply is not None:
            remedy = _first_remedy(entries, apply)
            job = client.jobs.apply_remedy(id, remedy)
            if json:
                output.print_json(job.model_dump(mode="json"))
            else:
                out.print(f"{remedy.label}: {job.id}", markup=False, soft_wrap=True)
            return
    if json:
        output.print_json([entry.model_dump(mode="json") for entry in entries])
        return
    for entry in entries:
        _print(id, entry)
    if not entries:
        out.print("No findings.")


def _first_remedy(entries: Sequence[FindingEntry], code: str) -> Remedy:
    chosen = next((entry for entry in entries if entry.code == code and entry.remedies), None)
    if chosen is None:
        codes = ", ".join(entry.code for entry in entries if entry.remedies)
        raise InvalidInput(
            f"The job has no finding {code!r} with a remedy.",
            code="no_remedy",
            param="apply",
            hint=f"Findings with a remedy: {codes}." if codes else "None of its findings has a remedy.",
        )
    return chosen.remedies[0]


def _print(id: str, entry: FindingEntry) -> None:
    resolved = f", resolved at step {entry.resolved_step}" if entry.resolved_step is not None else ""
    cause = f", follows from {entry.cause}" if entry.cause else ""
    lines = [
        f"{entry.severity}: {entry.title} (since step {entry.step}{cause}{resolved})",
        f"  {entry.message}",
    ]
    if entry.why and not entry.cause:
        lines.append(f"  {entry.why}")
    if numbers := [text for number in entry.evidence.numbers if (text := _number(number))]:
        lines.append(f"  evidence   {', '.join(numbers)}")
    if entry.hint:
        lines.append(f"  hint       {entry.hint}")
    for remedy in entry.remedies:
        lines.append(f"  remedy     {remedy.label}")
        own = commands(id, remedy)
        if remedy is entry.remedies[0] and max(map(len, own)) > LONGEST_COMMAND:
            own = [f"reinforge job findings {id} --apply {entry.code}"]
        lines += [f"             {command}" for command in own]
    for line in [*lines, ""]:
        out.print(line, markup=False, soft_wrap=True)


def _number(number: EvidenceNumber) -> str | None:
    if number.value is None:
        return None
    return f"{number.name} {format_number(number.value)}{number.unit and ' ' + number.unit}"


def commands(id: str, remedy: Remedy) -> list[str]:
    settings = [shlex.quote(f"{path}={_value(value)}") for path, value in remedy.set.items()]
    if remedy.kind == "apply_live":
        return [f"reinforge job change {id} {' '.join(settings)}"]
    if remedy.kind == "fork":
        changes = "".join(f" --set {setting}" for setting in settings)
        return [f"reinforge job fork {id} --step {remedy.step}{changes}"]
    return [f"reinforge job cancel {id}", f"reinforge adapter download {id}"]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json_format.dumps(value)
