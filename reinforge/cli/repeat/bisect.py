"""Command `reinforge bisect`."""

import time
from typing import Annotated, Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, err, number, out
from reinforge.client import Reinforge
from reinforge.client.shared import RESTS
from reinforge.comparison.turning import BadCondition, Turn, find_turn, read_condition
from reinforge.errors import InvalidInput, StateConflict
from reinforge.schemas.jobs import CompletionRow, JobDetail

POLL_SECONDS = 1.0
MOST_STEPS = 20
"""Maximum number of steps whose completions are read: the last ones of a range."""
HEAD = 160


def bisect(
    id: JobId,
    bad: Annotated[
        str,
        typer.Option("--bad", help="What went wrong: 'held_out<0.6', or a metric such as 'reward/mean<0.2'."),
    ],
    rerun: Annotated[
        bool,
        typer.Option("--rerun", help="Repeat the steps in question with an evaluation after each of them."),
    ] = False,
    completions: Annotated[int, typer.Option(help="Number of completions to show.", min=1, max=100)] = 5,
    json: Json = False,
) -> None:
    """Find the step at which a metric turned bad, and the completions that its update reinforced most.

    Without --rerun, a held-out metric is only located between two stored evaluations.
    """
    condition = read_condition(bad)
    with connect() as client:
        job = client.jobs.get(id)
        turn = _turn(client, id, condition)
        repeated = None
        if rerun and turn.kind == "held_out" and turn.bad - turn.good > 1:
            repeated = _repeat(client, job, turn)
            turn = _turn(client, repeated.id, condition)
        source = id if repeated is None else repeated.id
        rows = _reinforced(client, source, turn, completions)
        document = _document(client, id, turn, rows, repeated)
    if json:
        output.print_json(document)
    else:
        _print(condition, turn, rows, document)


def _turn(client: Reinforge, id: str, condition: BadCondition) -> Turn:
    """Raises InvalidInput `unknown_metric`, or `no_turn` if the metric did not turn bad."""
    [*series] = (
        one for one in client.jobs.metrics(id, keys=[condition.key]).series if one.kind == condition.kind
    )
    if not series:
        raise InvalidInput(
            f"The job has no metric {condition.key}.",
            code="unknown_metric",
            param="--bad",
            hint=f"`reinforge job metrics {id}` lists them.",
        )
    turn = find_turn(list(zip(series[0].steps, series[0].values, strict=True)), condition)
    if turn is None:
        raise InvalidInput(
            f"{condition.key} of {id} never turned from good to bad ({condition.sign}{condition.number:g}).",
            code="no_turn",
            param="--bad",
        )
    return turn


def _repeat(client: Reinforge, job: JobDetail, turn: Turn) -> JobDetail:
    """Repeat the job up to the bad step with the same random numbers and an evaluation after every step."""
    start = next(
        (one.step for one in client.jobs.starts(job.id) if one.whole and one.step <= turn.good), None
    )
    name, every = f"{job.name}, bisect"[:200], {"evaluation.every_steps": 1}
    if start is not None:
        repeated = client.jobs.fork(job.id, step=start, name=name, set=every)
    elif job.forked_from is not None:
        raise InvalidInput(
            f"{job.id} is a fork and has no resume state of step {turn.good} or before.",
            code="no_start",
            hint="Bisect the job that it was forked from, or run the command without --rerun.",
        )
    else:
        spec: dict[str, Any] = (job.resolved_spec or job.spec) | {"name": name}
        repeated = client.jobs.create(spec | {"evaluation": spec.get("evaluation", {}) | {"every_steps": 1}})
    err.print(f"{repeated.id} repeats the steps from {start or 0} to {turn.bad}", soft_wrap=True)
    while repeated.status not in RESTS:
        evaluated = client.jobs.metrics(repeated.id, keys=["held_out/reward_mean"]).series
        if any(turn.bad in series.steps for series in evaluated):
            try:
                return client.jobs.cancel(repeated.id)
            except StateConflict:  # it ended meanwhile
                return client.jobs.get(repeated.id)
        time.sleep(POLL_SECONDS)
        repeated = client.jobs.get(repeated.id)
    return repeated


def _reinforced(client: Reinforge, id: str, turn: Turn, count: int) -> list[CompletionRow]:
    """The `count` completions with the highest positive advantages in the last steps of `turn.updates`."""
    first, last = turn.updates
    rows: list[CompletionRow] = []
    for step in range(max(first, last - MOST_STEPS + 1, 1), last + 1):
        rows += client.jobs.completions(id, step=step, sort="-advantage", limit=count).data
    rows = [row for row in rows if row.advantage is not None and row.advantage > 0]
    return sorted(rows, key=lambda row: row.advantage or 0.0, reverse=True)[:count]


def _document(
    client: Reinforge, id: str, turn: Turn, rows: list[CompletionRow], repeated: JobDetail | None
) -> dict[str, Any]:
    first, last = turn.updates
    same = None
    if repeated is not None:
        divergence = client.jobs.diverge(id, repeated.id)
        same = divergence.completion is None and divergence.reward is None
    return {
        "job": id,
        "rerun": None if repeated is None else repeated.id,
        "same_dice": same,
        "good": {"step": turn.good, "value": turn.values[0]},
        "bad": {"step": turn.bad, "value": turn.values[1]},
        "updates": [first, last],
        "changes": [
            change.model_dump(mode="json")
            for change in client.jobs.changes(id)
            if change.step is not None and first <= change.step <= last
        ],
        "completions": [row.model_dump(mode="json") for row in rows],
    }


def _print(condition: BadCondition, turn: Turn, rows: list[CompletionRow], document: dict[str, Any]) -> None:
    first, last = turn.updates
    updates = f"the update of step {last}" if first == last else f"an update of the steps {first} to {last}"
    values = (
        f"{number(turn.values[0], 3)} at step {turn.good}, {number(turn.values[1], 3)} at step {turn.bad}"
    )
    out.print(f"{condition.key} turned with {updates}: {values}", markup=False, soft_wrap=True)
    if first != last and document["rerun"] is None and turn.kind == "held_out":
        err.print("[yellow]note[/yellow] --rerun repeats these steps with an evaluation after each of them")
    if document["same_dice"] is False:
        err.print("[yellow]note[/yellow] the repeated job differs from this one: see `reinforge diverge`")
    for change in document["changes"]:
        what = change["title"] or change["setting"] or change["reward"]
        out.print(f"changed at step {change['step']}: {what}", markup=False, soft_wrap=True)
    for row in rows:
        place = f"step {row.step}, prompt {row.prompt_no}, completion {row.sample_no}"
        out.print(
            f"{place}: reward {number(row.reward)}, advantage {number(row.advantage)}: {row.text[:HEAD]!r}",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
