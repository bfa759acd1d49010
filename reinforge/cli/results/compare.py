"""Command `reinforge compare`."""

from typing import Annotated, Any

import typer

from reinforge.cli.connection import connect
from reinforge.cli.output import Json, duration, number, out, print_json, print_table
from reinforge.schemas.comparison import (
    ComparedGroup,
    ComparedJob,
    ComparedPromptPage,
    HeldOutEstimate,
    JobSpread,
    Moment,
)

HEAD = 60
"""Maximum characters of a prompt in the table."""


def compare(
    jobs: Annotated[list[str], typer.Argument(help="Ids of 2 to 50 jobs; the first is the baseline.")],
    at: Annotated[
        str,
        typer.Option(help="Evaluation to compare: the newest one (last) or the best checkpoint's (best)."),
    ] = "last",
    group: Annotated[
        str | None,
        typer.Option(
            help="Group jobs by a setting, such as algorithm.preset; `seeds` groups those that differ in seeds."
        ),
    ] = None,
    prompts: Annotated[
        int,
        typer.Option(
            min=0, max=100, help="Also list this many common held-out prompts, largest difference first."
        ),
    ] = 0,
    json: Json = False,
) -> None:
    """Compare jobs: held-out rewards with intervals, settings that differ, time, tokens and cost."""
    moment: Moment = "best" if at == "best" else "last"
    if at != moment:
        raise typer.BadParameter("must be last or best", param_hint="--at")
    with connect() as client:
        comparison = client.jobs.compare(jobs, at=moment, group=group)
        page = client.jobs.compare_prompts(jobs, at=moment, limit=prompts) if prompts else None
    if json:
        answer = comparison.model_dump(mode="json")
        print_json(comparison if page is None else answer | {"prompts": page.model_dump(mode="json")["data"]})
        return
    columns = ["job", "name", "state", "step", "before", "held-out", "change", "tokens", "took", "cost"]
    print_table(columns, [_line(job) for job in comparison.jobs], empty="no jobs")
    if comparison.groups:
        columns = ["group", "jobs", "before", "held-out", "change", "tokens", "took", "cost"]
        print_table(columns, [_group_line(group) for group in comparison.groups], empty="")
    if comparison.settings:
        names = ["setting", *(job.id for job in comparison.jobs)]
        rows = [
            [setting.path, *(_text(value) for value in setting.values)] for setting in comparison.settings
        ]
        print_table(names, rows, empty="")
    else:
        out.print("The jobs have the same settings.")
    if page is not None:
        _print_prompts(jobs, page)
    for one in comparison.groups or comparison.jobs:
        if one.verdict is not None:
            out.print(one.verdict, markup=False, soft_wrap=True)
        for note in one.notes:
            out.print(f"  note  {note}", markup=False, soft_wrap=True)


def _print_prompts(jobs: list[str], page: ComparedPromptPage) -> None:
    rows = []
    for prompt in page.data:
        rewards = {result.job: result.reward for result in prompt.results}
        head = (prompt.prompt or prompt.prompt_hash).replace("\n", " ")
        rows.append(
            [head[:HEAD], number(prompt.difference), *(number(rewards.get(job)) for job in jobs)],
        )
    print_table(["prompt", "difference", *jobs], rows, empty="The jobs have no scored prompts in common.")


def _group_line(group: ComparedGroup) -> list[str]:
    return [
        group.label,
        str(len(group.jobs)),
        _spread(group.held_out_before),
        _spread(group.held_out),
        _estimate(group.difference, sign=True),
        "–" if group.completion_tokens is None else number(group.completion_tokens.mean, 0),
        "–" if group.seconds is None else duration(group.seconds.mean),
        "–" if group.cost is None else number(group.cost.mean, 2),
    ]


def _spread(spread: JobSpread | None) -> str:
    return "–" if spread is None else f"{spread.mean:.3f} ({spread.minimum:.3f} to {spread.maximum:.3f})"


def _line(job: ComparedJob) -> list[str]:
    return [
        job.id,
        job.name,
        job.status,
        str(job.step),
        number(job.held_out_before),
        _estimate(job.held_out),
        _estimate(job.difference, sign=True),
        number(job.completion_tokens, 0),
        duration(job.seconds),
        number(job.cost, 2),
    ]


def _estimate(estimate: HeldOutEstimate | None, *, sign: bool = False) -> str:
    if estimate is None:
        return "–"
    value = f"{estimate.value:+.3f}" if sign else f"{estimate.value:.3f}"
    return f"{value} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _text(value: Any) -> str:
    return "–" if value is None else str(value)
