"""`reinforge deploy …`: an adapter behind a name that any OpenAI client can ask."""

from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.weights import Final, Step, choose, require_job, warn_of_adapter
from reinforge.cli.output import Json, err, out
from reinforge.client import Reinforge
from reinforge.schemas.deployments import DeploymentInfo

app = typer.Typer(help="Deployments: adapters that any OpenAI client can ask.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The deployment's name or id.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is loaded.")]
What = Annotated[
    str,
    typer.Argument(
        help="A job (ftjob-…: its best checkpoint), an adapter (adp_…), a checkpoint (ftckpt_…) or a model."
    ),
]


@app.command()
def create(
    what: What,
    name: Annotated[str, typer.Option("--name", "-n", help="What requests call it.")],
    final: Final = False,
    step: Step = None,
    wait: Wait = True,
    json: Json = False,
) -> None:
    """Deploy weights under a name. Of a job it is the best checkpoint."""
    with connect() as client:
        target = _target(client, what, final=final, step=step)
        found = client.deployments.create(name, **target)
        if wait:
            found = client.deployments.wait(found.id)
        _show(found, client.base_url, json=json)


@app.command()
def point(
    name: Name,
    what: What,
    final: Final = False,
    step: Step = None,
    wait: Wait = True,
    json: Json = False,
) -> None:
    """Put other weights behind a deployment's name; requests under way end with the old ones."""
    with connect() as client:
        found = client.deployments.point(name, **_target(client, what, final=final, step=step))
        if wait:
            found = client.deployments.wait(found.id)
        _show(found, client.base_url, json=json)


@app.command("list")
def list_deployments(json: Json = False) -> None:
    """All deployments, newest first."""
    with connect() as client:
        found = list(client.deployments.list())
    if json:
        output.print_json(found)
        return
    output.print_table(
        ["name", "state", "model", "step", "requests", "tokens in", "tokens out", "why"],
        (
            [
                each.name,
                each.state,
                each.model,
                "base" if each.step is None else str(each.step),
                f"{each.usage.requests:,}",
                f"{each.usage.prompt_tokens:,}",
                f"{each.usage.completion_tokens:,}",
                "" if each.error is None else each.error.message,
            ]
            for each in found
        ),
        empty="Nothing is deployed yet: reinforge deploy create ftjob-… --name NAME",
    )


@app.command()
def start(name: Name, wait: Wait = True, json: Json = False) -> None:
    """Let a stopped deployment take requests again."""
    with connect() as client:
        found = client.deployments.start(name)
        if wait:
            found = client.deployments.wait(found.id)
        _show(found, client.base_url, json=json)


@app.command()
def stop(
    name: Name,
    delete: Annotated[bool, typer.Option(help="Also give the name back.")] = False,
    json: Json = False,
) -> None:
    """Take no more requests; those under way end first."""
    with connect() as client:
        client.deployments.stop(name)
        found = client.deployments.wait(name)
        if delete:
            client.deployments.delete(name)
    if json:
        output.print_json(found)
    else:
        err.print(f"{found.name} is {'deleted' if delete else 'stopped'}")


@app.command()
def vllm(name: Name, json: Json = False) -> None:
    """The command that serves the same weights with vLLM, elsewhere."""
    with connect() as client:
        found = client.deployments.get(name)
    if json:
        output.print_json(found.vllm)
        return
    for note in found.vllm.notes:
        err.print(f"[yellow]note[/yellow] {note}")
    if found.adapter is not None:
        err.print(f"reinforge adapter download {found.adapter} --to {found.vllm.folder}")
    elif found.job is not None and found.step is not None:
        of = f"{found.job} --step {found.step}"
        err.print(f"reinforge adapter download {of} --to {found.vllm.folder}", soft_wrap=True)
    if (template := found.vllm.chat_template) is not None:
        text = f"cat > chat_template.jinja <<'END'\n{template.rstrip()}\nEND"
        err.print(text, soft_wrap=True, markup=False, highlight=False)
    out.print(found.vllm.command, soft_wrap=True)


def _target(client: Reinforge, what: str, *, final: bool, step: int | None) -> dict[str, str]:
    """Raises InvalidInput, and as `choose`."""
    require_job(what, final=final, step=step)
    if what.startswith("adp_"):
        warn_of_adapter(client, what)
        return {"adapter": what}
    if what.startswith("ftckpt_"):
        return {"checkpoint": what}
    if not what.startswith("ftjob-"):
        return {"model": what}
    chosen = choose(client, what, final=final, step=step)
    return {"checkpoint": chosen.id} if chosen.adapter is None else {"adapter": chosen.adapter}


def _show(found: DeploymentInfo, url: str, *, json: bool) -> None:
    if json:
        output.print_json(found)
    elif found.error is None:
        err.print(f"{found.name} is {found.state}: ask it as the model {found.name!r} at {url}/v1")
        out.print(found.id)
    if found.state == "failed":
        assert found.error is not None
        err.print(
            f"[red]{found.name} could not be loaded[/red] {found.error.message} {found.error.hint or ''}"
        )
        raise typer.Exit(Exit.FAILED)
