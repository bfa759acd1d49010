"""Command `reinforge eval`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.data import SplitBy
from reinforge.cli.evaluation.views import Columns, SystemPrompt, Template, prompt_view, reward_of
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, Quiet, Timeout, err, number, out
from reinforge.cli.results.weights import choose_any
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput
from reinforge.evaluation.summary import METRICS
from reinforge.schemas.evaluations import Evaluation

WITH_RESUME = {"resume", "timeout", "wait", "file", "json", "quiet"}


def evaluate(
    ctx: typer.Context,
    dataset: Annotated[
        str | None, typer.Option(help="Id of a dataset, or a file, which is uploaded. Required.")
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(help="A file with code or a grader, rew_…, or a ready-made reward's name. Required."),
    ] = None,
    column: Columns = None,
    prompt_template: Template = None,
    system_prompt: SystemPrompt = None,
    model: Annotated[str | None, typer.Option(help="A base model.")] = None,
    adapter: Annotated[str | None, typer.Option(help="adp_…, or ftjob-…: its best checkpoint.")] = None,
    checkpoint: Annotated[str | None, typer.Option(help="ftckpt_…")] = None,
    name: Annotated[str | None, typer.Option(help="Name, for `gate --baseline NAME`.")] = None,
    rows: Annotated[int, typer.Option("--rows", "--first", help="Maximum number of rows.", min=1)] = 200,
    samples: Annotated[int, typer.Option(help="Completions per row.", min=1, max=16)] = 4,
    split: Annotated[str, typer.Option(help="all, train or held_out.")] = "all",
    held_out_rows: Annotated[int | None, typer.Option(help="As in the job.", min=0)] = None,
    split_by: Annotated[SplitBy, typer.Option(help="As in the job.")] = SplitBy.row,
    seed: Annotated[int, typer.Option(help="Seed of the split and the sampling.", min=0)] = 0,
    max_tokens: Annotated[int, typer.Option(min=1, max=4096)] = 256,
    temperature: Annotated[float, typer.Option(min=0, max=10)] = 1.0,
    pass_above: Annotated[float, typer.Option(help="A completion passes above this reward.")] = 0.5,
    resume: Annotated[
        str | None, typer.Option(metavar="ID", help="Return to an evaluation, or continue one that stopped.")
    ] = None,
    timeout: Timeout = None,
    wait: Annotated[bool, typer.Option(help="Wait for the result.")] = True,
    file: Annotated[Path | None, typer.Option("--out", help="Write the result with its rows here.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sample and score rows of a dataset; print mean reward and pass rate with 95 % intervals. Exit 1 on failure."""
    with connect() as client:
        if resume is not None:
            started = _taken_up(client, resume, ctx)
        else:
            started = client.evaluations.create(
                **_policy(client, model, adapter, checkpoint), **_reward(reward),
                dataset=_dataset(client, dataset), prompt_view=prompt_view(column, prompt_template, system_prompt),
                name=name, rows=rows, samples_per_row=samples, split=split, held_out_rows=held_out_rows,
                split_by=split_by.value, seed=seed, max_tokens=max_tokens, temperature=temperature,
                pass_above=pass_above,
            )  # fmt: skip
        if not quiet:
            err.print(f"{started.id}: {started.total:,} completions on {client.base_url}")
        ended = _waited(client, started, timeout, file) if wait else started
        if file is not None and ended.status == "succeeded":
            _write(client, ended, file)
    if json:
        output.print_json(ended)
    else:
        show(ended)
    if ended.status in ("failed", "cancelled"):
        raise typer.Exit(Exit.FAILED)


def _taken_up(client: Reinforge, id: str, ctx: typer.Context) -> Evaluation:
    """Get an evaluation, resumed if it had stopped."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params if name not in WITH_RESUME}
    conflicting = [
        name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"
    ]
    if conflicting:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in conflicting)
        raise InvalidInput(
            f"--resume continues {id} with its original settings; remove {flags}.", code="usage"
        )
    evaluation = client.evaluations.get(id)
    if evaluation.kind != "stand_alone":
        raise InvalidInput(
            f"{id} is a replay; `reinforge eval` only resumes its own evaluations.", code="not_stand_alone"
        )
    return client.evaluations.resume(id) if evaluation.status in ("failed", "cancelled") else evaluation


def _waited(client: Reinforge, started: Evaluation, timeout: float | None, file: Path | None) -> Evaluation:
    """Ctrl-C and a time-out end only the wait."""
    out_again = "" if file is None else f" --out {file}"
    again = f"{started.id} keeps running. Return to it: reinforge eval --resume {started.id}{out_again}"
    try:
        return client.evaluations.wait(started.id, timeout=timeout)
    except KeyboardInterrupt:
        err.print(f"\nDetached; {again}", markup=False, soft_wrap=True)
        raise typer.Exit(Exit.INTERRUPTED) from None
    except TimeoutError:
        err.print(f"Not finished after {timeout:g} s; {again}", markup=False, soft_wrap=True)
        raise typer.Exit(Exit.TIMEOUT) from None


def _write(client: Reinforge, ended: Evaluation, file: Path) -> None:
    document = ended.model_dump_json(indent=2)
    scores = client.evaluations.rows(ended.id).model_dump_json(exclude={"object"})
    file.write_text(f'{{"evaluation": {document},\n"scores": {scores}}}\n', encoding="utf-8")


def show(evaluation: Evaluation) -> None:
    if evaluation.error is not None:
        err.print(f"[red]{evaluation.status}[/red] {evaluation.error.message}", markup=True)
    if (summary := evaluation.summary) is not None:
        for metric, estimate in summary.metrics.items():
            err.print(
                f"{metric:>14}  {number(estimate.value)}  ({number(estimate.low)} to {number(estimate.high)})  "
                f"[dim]{METRICS.get(metric, '')}[/dim]"
            )
        err.print(
            f"{'rows':>14}  {summary.rows:,}, {summary.completions:,} completions, {summary.error_share:.1%} not "
            f"scored, {summary.truncated_share:.1%} cut off, {summary.tokens_mean:.0f} tokens on average"
        )
    out.print(evaluation.id)


def _policy(
    client: Reinforge, model: str | None, adapter: str | None, checkpoint: str | None
) -> dict[str, Any]:
    if sum(option is not None for option in (model, adapter, checkpoint)) != 1:
        raise InvalidInput("Give exactly one of --model, --adapter and --checkpoint.", code="usage")
    if adapter is not None and adapter.startswith("ftjob-"):
        return {"model": None, "adapter": None, "checkpoint": choose_any(client, adapter).id}
    return {"model": model, "adapter": adapter, "checkpoint": checkpoint}


def _dataset(client: Reinforge, file_or_id: str | None) -> str:
    if file_or_id is None:
        raise InvalidInput("Give a --dataset.", code="usage")
    return client.datasets.push(file_or_id).id if Path(file_or_id).is_file() else file_or_id


def _reward(reward: str | None) -> dict[str, Any]:
    if reward is None:
        raise InvalidInput("Give a --reward.", code="usage")
    return reward_of(reward)
