"""Commands `reinforge job pause`, `change`, `change-reward`, `checkpoint` and `fork`."""

from typing import Annotated, Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.output import Json, err, number, out
from reinforge.errors import InvalidInput
from reinforge.offline.jobfile import validate, value_of
from reinforge.schemas.job_changes import JobSetting
from reinforge.schemas.jobs import JobStart
from reinforge.spec import JobSpec

app = typer.Typer()
JobId = Annotated[str, typer.Argument(help="Job id (ftjob-…).")]


@app.command()
def pause(id: JobId, json: Json = False) -> None:
    """Pause a job after the current step, with a checkpoint. `reinforge job resume` continues it."""
    with connect() as client:
        job = client.jobs.pause(id)
    output.result(job, f"{job.id} is {job.status}", json=json)


@app.command("change-reward")
def change_reward(
    id: JobId,
    reward: Annotated[
        str | None, typer.Option(help="Name of the reward in the job; needed if the job has several.")
    ] = None,
    stored: Annotated[str | None, typer.Option(help="Id of another stored reward (rew_…).")] = None,
    revision: Annotated[
        int | None, typer.Option(help="Revision of the reward. Default: the newest.", min=1)
    ] = None,
    json: Json = False,
) -> None:
    """Use another stored reward or revision from the next step on. Its golden cases must pass."""
    with connect() as client:
        change = client.jobs.change_reward(id, reward=reward, stored=stored, revision=revision)
    output.result(change, f"{change.reward} is {change.revision} from the next step on.", json=json)


@app.command()
def change(
    id: JobId,
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SETTING=VALUE]...", help="Such as learning_rate=5e-6. Without any, list the settings."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Change settings from the next step on: learning rate, temperature, KL β, clip range."""
    with connect() as client:
        current = client.jobs.settings(id)
        if not settings:
            _list(current, json=json)
            return
        changes = [_parsed(text, current) for text in settings]  # all of them before the first is changed
        changed = [client.jobs.change_setting(id, setting, value) for setting, value in changes]
    lines = [
        f"{item.setting} is {item.value:g} from the next step on; it was {item.before:g}." for item in changed
    ]
    output.result(changed, *lines, json=json)


def _list(settings: list[JobSetting], *, json: bool) -> None:
    output.listing(
        settings,
        ["setting", "", "now", "created with"],
        lambda setting: [setting.setting, setting.title, f"{setting.value:g}", f"{setting.created_with:g}"],
        empty="This job has no settings that can be changed.",
        json=json,
    )


def _parsed(text: str, settings: list[JobSetting]) -> tuple[str, float]:
    """Parse `SETTING=NUMBER`. SETTING may be a unique suffix of the path, as in `learning_rate=5e-6`."""
    name, _, value = text.partition("=")
    matches = [setting.setting for setting in settings if f".{setting.setting}".endswith(f".{name.strip()}")]
    if len(matches) != 1:
        raise InvalidInput(
            f"{name!r} names {'several settings' if matches else 'no setting of this job'}.",
            code="unknown_setting",
            hint=f"Use one of: {', '.join(matches or [setting.setting for setting in settings])}.",
        )
    try:
        return matches[0], float(value)
    except ValueError:
        raise InvalidInput(f"{text!r} sets no number.", code="no_number", hint=f"Write {name}=0.5.") from None


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Such as optimizer.learning_rate=1e-5 or algorithm.preset=dr_grpo. Repeat for more.",
    ),
]


@app.command()
def fork(
    id: JobId,
    step: Annotated[
        int | None, typer.Option(help="Continue from this step. Default: the newest with a resume state.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the new job.")] = None,
    set: Settings = None,
    starts: Annotated[
        bool, typer.Option("--starts", help="Only list the steps that a fork can start from.")
    ] = False,
    json: Json = False,
) -> None:
    """Start a new job from a job's checkpoint: its weights and, if compatible, its optimizer state."""
    with connect() as client:
        if starts:
            _list_starts(client.jobs.starts(id), json=json)
            return
        job = client.jobs.fork(id, step=step, name=name, set=dict(map(place, set or [])))
    if json:
        output.print_json(job)
        return
    if job.forked_from is None:
        err.print(f"{job.id} starts where {id} started.")
    else:
        carried = ", ".join(job.forked_from.carried)
        err.print(f"{job.id} continues from step {job.forked_from.step}, with that step's {carried}.")
    out.print(job.id)


def _list_starts(starts: list[JobStart], *, json: bool) -> None:
    output.listing(
        starts,
        ["step", "held-out", "kept"],
        lambda start: [
            str(start.step), number(start.held_out_reward), "weights and optimizer" if start.whole else "weights",
        ],
        empty="No checkpoint is stored yet. Save one: reinforge job checkpoint ID",
        json=json,
    )  # fmt: skip


def _number(text: str) -> int | float:
    return int(text) if text.strip().lstrip("-").isdigit() else float(text)


def place(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"{text!r} sets no value.", code="no_value", hint=f"Write --set {path}=…")
    try:
        return path.strip(), _number(value)
    except ValueError:
        return path.strip(), value_of(value)


def with_settings(spec: JobSpec, settings: list[str] | None) -> JobSpec:
    """Apply `PATH=VALUE` settings to a specification."""
    raw = spec.model_dump(mode="json", exclude_unset=True)
    for path, value in map(place, settings or []):
        *parents, last = path.split(".")
        target = raw
        for part in parents:
            inner = target.setdefault(part, {})
            if not isinstance(inner, dict):
                raise InvalidInput(
                    f"{path}: {part} is not an object.", code="usage", hint="Change it in the job file."
                )
            target = inner
        target[last] = value
    return validate(raw) if settings else spec


@app.command()
def checkpoint(id: JobId, json: Json = False) -> None:
    """Save a checkpoint after the current step."""
    with connect() as client:
        request = client.jobs.checkpoint(id)
    output.result(request, "A checkpoint will be saved after the current step.", json=json)
