"""Commands `reinforge job list`, `rename`, `note`, `tag`, `archive` and `unarchive`."""

from typing import Annotated, Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.jobs.steer import JobId
from reinforge.cli.output import Json, number
from reinforge.errors import InvalidInput
from reinforge.schemas.jobs import Job, JobDetail
from reinforge.states import JobStatus

app = typer.Typer()
Ids = Annotated[list[str], typer.Argument(help="Job ids (ftjob-…).")]


@app.command("list")
def list_jobs(
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs in this state.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only jobs with this tag. Repeat for more.")] = None,
    model: Annotated[str | None, typer.Option(help="Only jobs of this base model.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Only jobs with this dataset (file-…).")] = None,
    reward: Annotated[str | None, typer.Option(help="Only jobs with this stored reward (rew_…).")] = None,
    preset: Annotated[str | None, typer.Option(help="Only jobs with this preset.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only jobs created by this user or key.")] = None,
    search: Annotated[str | None, typer.Option(help="Only jobs with this text in their name or id.")] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            help="Field to sort by, such as name or spec.optimizer.learning_rate; descending with - in front."
        ),
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Only archived jobs.")] = False,
    all: Annotated[bool, typer.Option("--all", help="Include archived jobs.")] = False,
    json: Json = False,
) -> None:
    """List jobs, newest first."""
    if archived and all:
        raise InvalidInput("--archived and --all cannot be used together.", code="usage")
    filters: dict[str, Any] = {"status": status, "tag": tag, "model": model, "dataset": dataset}
    filters |= {"reward": reward, "preset": preset, "owner": owner, "q": search}
    with connect() as client:
        jobs = list(
            client.jobs.list(
                **filters, sort=sort, archived="only" if archived else "include" if all else None
            )
        )
    narrowed = archived or any(value is not None for value in filters.values())
    output.listing(
        jobs,
        ["id", "name", "state", "step", "held-out", "model", "created"],
        lambda job: [
            job.id,
            job.name + "".join(f" #{tag}" for tag in job.tags),
            state_text(job) + (f" ({job.reason})" if job.reason else ""),
            f"{job.progress.step}/{job.progress.steps}",
            f"{number(job.held_out_reward_before)} → {number(job.held_out_reward)}",
            job.model,
            output.ago(job.created_at),
        ],
        empty="No job matches."
        if narrowed
        else "No jobs yet. Start one: reinforge job create -f examples/arithmetic/job.yaml",
        json=json,
    )


def state_text(job: Job) -> str:
    """A job's status with its most important error or verdict, such as `succeeded · no change`."""
    note = job.verdict_detail.note if job.verdict_detail else None
    if job.finding and job.finding.severity == "error":
        note = job.finding.title
    return f"{job.status} · {note}" if note else str(job.status)


@app.command()
def rename(id: JobId, name: str, json: Json = False) -> None:
    """Rename a job."""
    with connect() as client:
        job = client.jobs.update(id, name=name)
    output.result(job, f"{job.id} is now {job.name}", json=json)


@app.command()
def note(
    id: JobId,
    text: Annotated[str, typer.Argument(help="Markdown; an empty text removes the notes.")],
    append: Annotated[
        bool, typer.Option("--append", help="Add to the notes instead of replacing them.")
    ] = False,
    json: Json = False,
) -> None:
    """Replace a job's notes or add to them."""
    with connect() as client:
        current = client.jobs.get(id)
        before = current.notes if append else ""
        notes = f"{before}\n\n{text}" if before else text
        job = client.jobs.update(id, notes=notes, etag=current.etag if append else None)
    output.result(job, f"{job.id} has {'new notes' if job.notes else 'no notes'}", json=json)


@app.command()
def tag(
    id: JobId,
    tags: Annotated[list[str] | None, typer.Argument(help="Tags to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A tag to remove. Repeat for more.")] = None,
    json: Json = False,
) -> None:
    """Add and remove tags of a job."""
    if not tags and not remove:
        raise InvalidInput("Name a tag to add, or one to --remove.", code="usage")
    with connect() as client:
        job = client.jobs.update(id, add_tags=tags or (), remove_tags=remove or ())
    output.result(job, f"{job.id} has the tags: {', '.join(job.tags) or 'none'}", json=json)


@app.command()
def archive(ids: Ids, json: Json = False) -> None:
    """Hide ended jobs from lists. Their data is kept."""
    _archive(ids, True, json=json)


@app.command()
def unarchive(ids: Ids, json: Json = False) -> None:
    """Show archived jobs in lists again."""
    _archive(ids, False, json=json)


def _archive(ids: list[str], archived: bool, *, json: bool) -> None:
    with connect() as client:
        jobs: list[JobDetail] = [client.jobs.update(id, archived=archived) for id in ids]
    word = "archived" if archived else "listed again"
    output.result(jobs, *(f"{job.id} is {word}" for job in jobs), json=json)
