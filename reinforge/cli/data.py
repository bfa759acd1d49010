"""Commands under `reinforge dataset`, `reinforge models` and `reinforge adapter`."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TransferSpeedColumn

from reinforge import settings
from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.evaluation.views import Columns, SystemPrompt, Template, prompt_view
from reinforge.cli.output import Json, Quiet, err, number, out
from reinforge.cli.results.weights import Final, Step, choose, require_job, warn_of_adapter
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput
from reinforge.schemas.resources import Dataset

datasets = typer.Typer(help="Upload and list datasets.", no_args_is_help=True)
models = typer.Typer(help="Register and list base models.", no_args_is_help=True)
adapters = typer.Typer(help="List and download adapters.", no_args_is_help=True)


DatasetArgument = Annotated[str, typer.Argument(help="Id or name of the dataset.", metavar="DATASET")]


class ChatTemplateName(StrEnum):
    plain = "plain"
    bare = "bare"


class SplitBy(StrEnum):
    row = "row"
    prompt = "prompt"


@datasets.command("push")
def push_dataset(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL, CSV or Parquet.")],
    name: Annotated[str | None, typer.Option(help="Default: the file's name.")] = None,
    skip_bad_rows: Annotated[bool, typer.Option("--skip-bad-rows", help="Skip bad rows.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Upload a dataset. A file with the same name and content is not sent again.

    Files above 64 MiB are sent in parts. After a broken connection, run the command again to resume.
    """
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn())
    silent = quiet or json
    bar = Progress(*columns, console=err, disable=silent or not err.is_terminal, transient=True)
    with connect() as client, bar:
        task = bar.add_task(file.name, total=None, visible=False)
        sent: list[int] = []

        def show(done: int, total: int | None) -> None:
            if not sent and done and not silent:
                err.print(
                    f"[yellow]note[/yellow] {output.size(done)} arrived earlier and are not sent again."
                )
            sent.append(done)
            what = f"{file.name}: every row is checked" if done == total else file.name
            bar.update(task, description=what, completed=done, total=total, visible=True)

        try:
            dataset = client.datasets.push(file, name=name, skip_bad_rows=skip_bad_rows, progress=show)
        except InvalidInput as error:
            if error.faults is not None and error.faults["skippable"]:
                error.hint = f"--skip-bad-rows leaves the bad rows out. {error.hint or ''}".strip()
            raise
    if json:
        output.print_json(dataset)
        return
    _print_notes(dataset)
    err.print(
        f"{dataset.rows:,} rows, {output.size(dataset.bytes)}, columns: {', '.join(c['name'] for c in dataset.columns)}"
    )
    out.print(dataset.id)


def _print_notes(dataset: Dataset) -> None:
    if dataset.skipped is not None:
        places = ", ".join(str(line) for line in dataset.skipped.lines[:10])
        more = ", …" if dataset.skipped.rows > 10 else ""
        place = "rows" if dataset.format == "parquet" else "lines"
        err.print(
            f"[yellow]note[/yellow] {dataset.skipped.rows:,} bad rows are skipped ({place} {places}{more})"
        )
    for warning in dataset.warnings:
        err.print(f"[yellow]note[/yellow] {escape(warning)}")
    if (suggested := dataset.suggested_columns) is not None:
        columns = suggested.model_dump(exclude_none=True)
        roles = " ".join(f"--column {role}={name}" for role, name in columns.items())
        err.print(f"[yellow]note[/yellow] suggested columns: {escape(roles)}")


@datasets.command("render")
def render_dataset(
    dataset: DatasetArgument,
    model: Annotated[str, typer.Argument(help="Base model whose chat template is used.")] = "starter-arith",
    rows: Annotated[int, typer.Option(help="Number of rows.", min=1, max=100)] = 5,
    offset: Annotated[int, typer.Option(help="Number of rows to skip at the beginning.", min=0)] = 0,
    column: Columns = None,
    prompt_template: Template = None,
    system_prompt: SystemPrompt = None,
    json: Json = False,
) -> None:
    """Print the prompts that a model reads, rendered from a dataset's rows."""
    view = prompt_view(column, prompt_template, system_prompt) or {}
    with connect() as client:
        id = dataset_id(client, dataset)
        prompts = client.datasets.render(id, model, offset=offset, limit=rows, **view)
    if json:
        output.print_json(prompts)
        return
    for prompt in prompts.data:
        size = f"{prompt.tokens} tokens" if prompt.tokens is not None else "cannot be rendered"
        answer = f", answer {prompt.answer}" if prompt.answer is not None else ""
        err.print(f"row {prompt.index} of {prompts.total}: {size}{answer}", markup=False)
        out.print(prompt.error or prompt.text or "", markup=False, highlight=False)


@datasets.command("delete")
def delete_dataset(dataset: DatasetArgument) -> None:
    """Delete a dataset that no job uses."""
    with connect() as client:
        id = dataset_id(client, dataset)
        client.datasets.delete(id)
    err.print(f"{id} is deleted")


def dataset_id(client: Reinforge, id_or_name: str) -> str:
    """Id of a dataset by name. Returns ids and unknown names as they are: the server refuses the latter.

    Raises InvalidInput `ambiguous_name`.
    """
    if id_or_name.startswith("file-"):
        return id_or_name
    ids = [dataset.id for dataset in client.datasets.list() if dataset.name == id_or_name]
    if len(ids) > 1:
        raise InvalidInput(
            f"{len(ids)} datasets are named {id_or_name}: {', '.join(ids)}.",
            code="ambiguous_name",
            hint="Give the id of the dataset instead.",
        )
    return ids[0] if ids else id_or_name


@datasets.command("list")
def list_datasets(json: Json = False) -> None:
    """List datasets, newest first."""
    with connect() as client:
        all_datasets = list(client.datasets.list())
    if json:
        output.print_json(all_datasets)
        return
    output.print_table(
        ["id", "name", "rows", "size", "columns", "created"],
        (
            [
                dataset.id,
                dataset.name,
                f"{dataset.rows:,}",
                output.size(dataset.bytes),
                ", ".join(c["name"] for c in dataset.columns)[:60],
                output.ago(dataset.created_at),
            ]
            for dataset in all_datasets
        ),
        empty="No datasets yet. Upload one: reinforge dataset push FILE.jsonl",
    )


@datasets.command("report")
def report_dataset(
    id: Annotated[str, typer.Argument(help="Id of the dataset (file-…).")],
    held_out: Annotated[
        str | None,
        typer.Option(help="Dataset that jobs evaluate on. Default: held-out rows of the same dataset."),
    ] = None,
    held_out_rows: Annotated[int | None, typer.Option(help="As in the job.", min=0)] = None,
    seed: Annotated[int, typer.Option(help="As in the job.", min=0)] = 0,
    split_by: Annotated[SplitBy, typer.Option(help="As in the job.")] = SplitBy.row,
    json: Json = False,
) -> None:
    """Report duplicate prompts, and held-out prompts that are also in the training rows."""
    with connect() as client:
        report = client.datasets.report(
            id, held_out=held_out, held_out_rows=held_out_rows, seed=seed, split_by=split_by.value
        )
    if json:
        output.print_json(report)
        return
    for line in report.advice:
        err.print(f"[yellow]note[/yellow] {line}")
    if not report.advice:
        out.print(
            f"{report.compared:,} rows: no prompt occurs twice, and no held-out prompt is a training prompt."
        )
    leaks = report.leakage.examples if report.leakage else []
    if leaks:
        output.print_table(
            ["held-out row", "train row", "likeness", "prompt"],
            (
                [
                    str(example.held_out_row + 1),
                    str(example.train_row + 1),
                    f"{example.similarity:.0%}",
                    example.train_text[:80],
                ]
                for example in leaks
            ),
            empty="",
        )
    repeated = report.duplicates.examples if report.duplicates else []
    if repeated:
        output.print_table(
            ["times", "rows", "prompt"],
            (
                [str(example.count), ", ".join(str(row + 1) for row in example.rows), example.text[:80]]
                for example in repeated
            ),
            empty="",
        )


@models.command("add")
def add_model(
    id: Annotated[str, typer.Argument(help="Id to use in jobs, without a slash.")],
    source: Annotated[str, typer.Option("--from", help="Folder on the worker, or hub:org/name@revision.")],
    token_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable with the hub's token, which is sent once and stored encrypted."
        ),
    ] = None,
    chat_template: Annotated[
        ChatTemplateName | None, typer.Option(help="Chat template for a model that has none: plain or bare.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Register a base model; a worker downloads and inspects it."""
    folder = Path(source)
    token = settings.variable(token_env) if token_env else None
    if token_env and not token:
        raise InvalidInput(
            f"The environment variable {token_env} is not set.", code="usage", param="token_env"
        )
    columns = (SpinnerColumn(), "{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with connect() as client, Progress(*columns, console=err, disable=quiet or json, transient=True) as bar:
        task = bar.add_task("waiting", total=None)
        model = client.models.add(
            id,
            str(folder.resolve()) if folder.is_dir() else source,
            token=token,
            chat_template=chat_template.value if chat_template else None,
            progress=lambda state: bar.update(
                task, description=state.phase, completed=state.done or 0, total=state.total
            ),
        )
    if json:
        output.print_json(model)
        return
    out.print(
        f"{model.id}: {model.architecture}, {model.parameters or 0:,} parameters, context {model.context_length}"
    )
    if model.memory is not None and not quiet:
        err.print(
            f"memory: about {output.size(model.memory.serve)} to sample, {output.size(model.memory.train)} to train"
            + (f", {output.size(model.memory.train_nf4)} in NF4" if model.memory.train_nf4 else "")
        )


@models.command("share")
def share_model(id: Annotated[str, typer.Argument(help="Id of the model.")], json: Json = False) -> None:
    """Share a model and its hub token with all projects. For administrators."""
    with connect() as client:
        model = client.models.share(id)
    output.result(model, f"All projects share {model.id}.", json=json)


@models.command("remove")
def remove_model(id: Annotated[str, typer.Argument(help="Id of the model.")]) -> None:
    """Remove an unused base model. Its files are not deleted."""
    with connect() as client:
        client.models.remove(id)


@models.command("list")
def list_models(json: Json = False) -> None:
    """List the project's base models and the shared models."""
    with connect() as client:
        all_models = list(client.models.list())
    if json:
        output.print_json(all_models)
        return
    output.print_table(
        ["id", "of", "architecture", "parameters", "context", "template", "to train", "source"],
        (
            [
                model.id,
                "all projects" if model.shared else "this project",
                model.architecture or model.error or "–",
                f"{model.parameters:,}" if model.parameters else "–",
                str(model.context_length or "–"),
                "yes" if model.has_chat_template else "no",
                model.status
                if model.status != "ready"
                else output.size(model.memory.train if model.memory else None),
                model.source,
            ]
            for model in all_models
        ),
        empty="No base models. The built-in starter-arith appears when a worker is online.",
    )


@adapters.command("list")
def list_adapters(json: Json = False) -> None:
    """List adapters, newest first."""
    with connect() as client:
        all_adapters = list(client.adapters.list())
    if json:
        output.print_json(all_adapters)
        return
    output.print_table(
        ["id", "name", "model", "step", "held-out", "size", "job"],
        (
            [
                adapter.id,
                adapter.name,
                adapter.model,
                str(adapter.step),
                number(adapter.held_out_reward),
                output.size(adapter.bytes),
                adapter.job or "uploaded",
            ]
            for adapter in all_adapters
        ),
        empty="No adapters yet: a job creates one when it succeeds.",
    )


@adapters.command("upload")
def upload_adapter(
    folder: Annotated[Path, typer.Argument(help="Folder that PEFT's save_pretrained wrote.", exists=True)],
    model: Annotated[str, typer.Option(help="Base model of the adapter.")],
    name: Annotated[str | None, typer.Option(help="Default: the folder's name.")] = None,
    json: Json = False,
) -> None:
    """Upload a LoRA adapter, for jobs that start from it and for deployments."""
    with connect() as client:
        try:
            adapter = client.adapters.upload(folder, model=model, name=name)
        except FileNotFoundError as error:
            raise InvalidInput(
                f"{folder} is not an adapter's folder: {error}.", code="adapter_not_found"
            ) from error
    if json:
        output.print_json(adapter)
    else:
        out.print(adapter.id)


@adapters.command("delete")
def delete_adapter(id: Annotated[str, typer.Argument(help="adp_…")]) -> None:
    """Delete an adapter. The job that trained it keeps its checkpoints."""
    with connect() as client:
        client.adapters.delete(id)
    err.print(f"{id} is deleted")


@adapters.command("download")
def download_adapter(
    id: Annotated[str, typer.Argument(help="A job (ftjob-…: its best checkpoint), or an adapter (adp_…).")],
    to: Annotated[Path, typer.Option(help="A folder to unpack into, or a file ending in .tar.gz.")] = Path(
        "adapter"
    ),
    final: Final = False,
    step: Step = None,
    json: Json = False,
) -> None:
    """Download an adapter, or a job's best checkpoint, as a folder that `PeftModel.from_pretrained` loads."""
    require_job(id, final=final, step=step)
    with connect() as client:
        if id.startswith("ftjob-"):
            chosen = choose(client, id, final=final, step=step)
            adapter, at = chosen.adapter, chosen.step
            download = partial(client.jobs.download_checkpoint, id, at)
            extract = partial(client.jobs.extract_checkpoint, id, at)
        else:
            warn_of_adapter(client, id)
            adapter, at = id, None
            download, extract = partial(client.adapters.download, id), partial(client.adapters.extract, id)
        if to.name.endswith(".tar.gz"):
            with Progress(
                "{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=err
            ) as bar:
                task = bar.add_task(id if at is None else f"step {at}", total=None)
                path = download(
                    to, progress=lambda done, total: bar.update(task, completed=done, total=total)
                )
        else:
            path = extract(to)
    if json:
        output.print_json({"adapter": adapter, "step": at, "path": str(path.resolve())})
    else:
        out.print(str(path.resolve()), soft_wrap=True)
