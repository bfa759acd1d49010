"""Command `reinforge job probe`."""

import json as jsonlib
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.evaluation.views import reward_of
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, Quiet, Timeout, err
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput
from reinforge.report_card import probe as starter
from reinforge.report_card.formats import change_text, estimate_text
from reinforge.schemas.report_card import CardAbility

app = typer.Typer()
STARTER = "starter-arith"


@app.command("probe")
def probe_job(
    id: JobId,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Dataset of another skill, or a file. Default, for the starter model: other additions."
        ),
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(help="A file with code or a grader, a stored reward (rew_…) or a ready one's name."),
    ] = None,
    rows: Annotated[int, typer.Option(help="Maximum number of rows.", min=1, max=5000)] = 100,
    samples: Annotated[int, typer.Option(help="Completions per row.", min=1, max=16)] = 4,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, max=4096, help="Default: the job's, at most 4096.")
    ] = None,
    timeout: Timeout = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate base and trained weights on another skill, for the report card. Exit 3 on a regression."""
    with connect() as client:
        fields = _fields(client, id, dataset, reward) | {"rows": rows, "samples_per_row": samples}
        job = client.jobs.get(id)
        tokens = max_tokens or min(4096, (job.resolved_spec or {})["rollout"]["max_completion_tokens"])
        policies = ({"model": job.model}, {"checkpoint": _checkpoint(client, id)})
        started = [client.evaluations.create(**policy, **fields, max_tokens=tokens) for policy in policies]
        for evaluation in started:
            if not quiet:
                err.print(f"{evaluation.id}: {evaluation.total:,} completions", markup=False)
        for evaluation in started:
            ended = client.evaluations.wait(evaluation.id, timeout=timeout)
            if ended.status != "succeeded":
                message = ended.error.message if ended.error else ended.status
                err.print(f"{ended.id}: {message}", markup=False, soft_wrap=True)
                raise typer.Exit(Exit.FAILED)
        ids = [evaluation.id for evaluation in started]
        abilities = client.jobs.card(id).abilities
        ability = next((one for one in abilities if one.adapter_evaluation == ids[1]), None)
        if ability is None:
            raise InvalidInput(
                "The report card does not show these evaluations.",
                code="not_on_card",
                hint=f"Compare them yourself: {' '.join(ids)}.",
            )
    if json:
        output.print_json(ability)
    else:
        _show(ability)
    if ability.worse:
        raise typer.Exit(Exit.GATE)


def _fields(client: Reinforge, id: str, dataset: str | None, reward: str | None) -> dict[str, Any]:
    if dataset is None:
        if client.jobs.get(id).model != STARTER or reward is not None:
            raise InvalidInput(
                "Name a dataset of another skill with --dataset, and its --reward.", code="usage"
            )
        return {"dataset": _starter_dataset(client), "source": starter.REWARD}
    if reward is None:
        raise InvalidInput("--dataset needs a --reward.", code="usage")
    path = Path(dataset)
    stored = client.datasets.push(path).id if path.is_file() else dataset
    return {"dataset": stored, **reward_of(reward)}


def _starter_dataset(client: Reinforge) -> str:
    """Id of the dataset with the probe's rows, uploaded if not stored yet."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "starter-additions.jsonl"
        path.write_text("".join(f"{jsonlib.dumps(row)}\n" for row in starter.starter_rows()), "utf-8")
        return client.datasets.push(path, name="Starter, other additions").id


def _checkpoint(client: Reinforge, id: str) -> str:
    step = client.jobs.card(id).subject.step
    checkpoints = {checkpoint.step: checkpoint.id for checkpoint in client.jobs.checkpoints(id)}
    if step not in checkpoints:
        raise InvalidInput(
            f"The report card is about step {step}, whose weights are not stored.",
            code="checkpoint_not_found",
            hint="Save a checkpoint at a step with an evaluation.",
        )
    return checkpoints[step]


def _show(ability: CardAbility) -> None:
    output.print_table(
        ["", "base", "adapter", "change"],
        (
            [
                figure.title,
                estimate_text(figure.base),
                estimate_text(figure.adapter),
                change_text(figure.change),
            ]
            for figure in ability.figures
        ),
        empty="nothing was scored",
    )
    if ability.worse:
        err.print(f"[red]worse[/red]  on {ability.name}")
