"""`reinforge job findings`"""

import json as json_format
import shlex
from typing import Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, out
from reinforge.diagnosis.finding import EvidenceNumber, Remedy
from reinforge.diagnosis.formats import format_number
from reinforge.schemas.findings import FindingEntry

app = typer.Typer()


@app.command()
def findings(id: JobId, json: Json = False) -> None:
    """What is wrong with a job, the most important first, with evidence and the commands that remedy it."""
    with connect() as client:
        entries = client.jobs.findings(id)
    if json:
        output.print_json([entry.model_dump(mode="json") for entry in entries])
        return
    for entry in entries:
        _print(id, entry)
    if not entries:
        out.print("No findings.")


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
        lines += [f"             {command}" for command in commands(id, remedy)]
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
