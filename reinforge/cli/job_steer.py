"""`reinforge job pause|change|change-reward|checkpoint`: what can be asked of a job while it runs."""

from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.output import Json, err
from reinforge.errors import InvalidInput
from reinforge.schemas.jobs import JobSetting

app = typer.Typer()
JobId = Annotated[str, typer.Argument(help="Job id (ftjob-…).")]


@app.command()
def pause(id: JobId, json: Json = False) -> None:
    """Stop a job after the step under way, with a checkpoint; `reinforge job resume` goes on from there."""
    with connect() as client:
        job = client.jobs.pause(id)
    if json:
        output.print_json(job)
    else:
        err.print(f"{job.id} is {job.status}")


@app.command("change-reward")
def change_reward(
    id: JobId,
    reward: Annotated[str | None, typer.Option(help="Name in the job, when it has several.")] = None,
    stored: Annotated[str | None, typer.Option(help="Another stored reward (rew_…).")] = None,
    revision: Annotated[int | None, typer.Option(help="Default: the newest.", min=1)] = None,
    json: Json = False,
) -> None:
    """Score with another stored revision from the next step on; its golden cases have to pass."""
    with connect() as client:
        change = client.jobs.change_reward(id, reward=reward, stored=stored, revision=revision)
    if json:
        output.print_json(change)
    else:
        err.print(f"{change.reward} is {change.revision} from the next step on.")


@app.command()
def change(
    id: JobId,
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SETTING=VALUE]...", help="Such as learning_rate=5e-6; without any they are listed."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Train with other numbers from the next step on: learning rate, temperature, KL β, clip range."""
    with connect() as client:
        known = client.jobs.settings(id)
        if not settings:
            _list(known, json=json)
            return
        asked = [_parsed(each, known) for each in settings]  # all of them before the first is changed
        made = [client.jobs.change_setting(id, setting, value) for setting, value in asked]
    if json:
        output.print_json(made)
        return
    for each in made:
        err.print(f"{each.setting} is {each.value:g} from the next step on, before {each.before:g}.")


def _list(known: list[JobSetting], *, json: bool) -> None:
    if json:
        output.print_json(known)
        return
    rows = ([each.setting, each.title, f"{each.value:g}", f"{each.created_with:g}"] for each in known)
    output.print_table(
        ["setting", "", "now", "created with"], rows, empty="Nothing of this job can be changed."
    )


def _parsed(text: str, known: list[JobSetting]) -> tuple[str, float]:
    """`learning_rate=5e-6`: the last parts of a path will do where they name one setting."""
    name, _, value = text.partition("=")
    found = [each.setting for each in known if f".{each.setting}".endswith(f".{name.strip()}")]
    if len(found) != 1:
        raise InvalidInput(
            f"{name!r} names {'several settings' if found else 'no setting of this job'}.",
            code="unknown_setting",
            hint=f"It has: {', '.join(found or [each.setting for each in known])}.",
        )
    try:
        return found[0], float(value)
    except ValueError:
        raise InvalidInput(
            f"{text!r} gives no number.", code="no_number", hint=f"Write {name}=0.5."
        ) from None


@app.command()
def checkpoint(id: JobId, json: Json = False) -> None:
    """Make a checkpoint after the step under way."""
    with connect() as client:
        asked = client.jobs.checkpoint(id)
    if json:
        output.print_json(asked)
    else:
        err.print("A checkpoint is made after the step under way.")
