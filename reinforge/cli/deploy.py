"""`reinforge deploy …`: an adapter behind a name that any OpenAI client can ask."""

from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, err, out
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput
from reinforge.schemas.deployments import DeploymentInfo

app = typer.Typer(help="Deployments: adapters that any OpenAI client can ask.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The deployment's name or id.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is loaded.")]
What = Annotated[
    str,
    typer.Argument(
        help="A job (ftjob-…: its adapter), an adapter (adp_…), a checkpoint (ftckpt_…) or a model."
    ),
]


@app.command()
def create(
    what: What,
    name: Annotated[str, typer.Option("--name", "-n", help="What requests call it.")],
    wait: Wait = True,
    json: Json = False,
) -> None:
    """Deploy weights under a name."""
    with connect() as client:
        target = _target(client, what)
        found = client.deployments.create(name, **target)
        if wait:
            found = client.deployments.wait(found.id)
        _show(found, client.base_url, json=json)


@app.command()
def point(name: Name, what: What, wait: Wait = True, json: Json = False) -> None:
    """Put other weights behind a deployment's name; requests under way end with the old ones."""
    with connect() as client:
        found = client.deployments.point(name, **_target(client, what))
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
    if (template := found.vllm.chat_template) is not None:
        text = f"cat > chat_template.jinja <<'END'\n{template.rstrip()}\nEND"
        err.print(text, soft_wrap=True, markup=False, highlight=False)
    out.print(found.vllm.command, soft_wrap=True)


def _target(client: Reinforge, what: str) -> dict[str, str]:
    """Raises InvalidInput."""
    if what.startswith("adp_"):
        return {"adapter": what}
    if what.startswith("ftckpt_"):
        return {"checkpoint": what}
    if not what.startswith("ftjob-"):
        return {"model": what}
    job = client.jobs.get(what)
    if job.adapter is None:
        raise InvalidInput(
            f"The job {what} has no adapter: it is {job.status}.",
            code="no_adapter",
            hint="Deploy one of its checkpoints, or wait until it has succeeded.",
        )
    return {"adapter": job.adapter}


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
