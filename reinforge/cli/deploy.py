"""Commands under `reinforge deploy`."""

from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, err, out
from reinforge.cli.results.weights import Final, Step, choose, require_job, warn_of_adapter
from reinforge.client import Reinforge
from reinforge.schemas.deployments import DeploymentInfo

app = typer.Typer(help="Deployments: serve adapters to any OpenAI client.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The deployment's name or id.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the weights are loaded.")]
What = Annotated[
    str,
    typer.Argument(
        help="A job (ftjob-…: its best checkpoint), an adapter (adp_…), a checkpoint (ftckpt_…) or a model."
    ),
]


RunTools = Annotated[
    bool | None,
    typer.Option(
        "--run-tools/--no-run-tools",
        help="Run the tools of the weights' job, and answer with the last message.",
        show_default=False,
    ),
]


@app.command()
def create(
    what: What,
    name: Annotated[str, typer.Option("--name", "-n", help="Model name in requests.")],
    final: Final = False,
    step: Step = None,
    run_tools: RunTools = None,
    wait: Wait = True,
    json: Json = False,
) -> None:
    """Deploy weights under a name. For a job, deploy its best checkpoint."""
    with connect() as client:
        target = _target(client, what, final=final, step=step)
        deployment = client.deployments.create(name, **target, run_tools=run_tools)
        if wait:
            deployment = client.deployments.wait(deployment.id)
        _show(deployment, client.base_url, json=json)


@app.command()
def point(
    name: Name,
    what: What,
    final: Final = False,
    step: Step = None,
    run_tools: RunTools = None,
    wait: Wait = True,
    json: Json = False,
) -> None:
    """Switch a deployment to other weights. Running requests finish on the old weights."""
    with connect() as client:
        target = _target(client, what, final=final, step=step)
        deployment = client.deployments.point(name, **target, run_tools=run_tools)
        if wait:
            deployment = client.deployments.wait(deployment.id)
        _show(deployment, client.base_url, json=json)


@app.command("list")
def list_deployments(json: Json = False) -> None:
    """List deployments, newest first."""
    with connect() as client:
        deployments = list(client.deployments.list())
    if json:
        output.print_json(deployments)
        return
    output.print_table(
        ["name", "state", "model", "step", "requests", "tokens in", "tokens out", "why"],
        (
            [
                deployment.name,
                deployment.state,
                deployment.model,
                "base" if deployment.step is None else str(deployment.step),
                f"{deployment.usage.requests:,}",
                f"{deployment.usage.prompt_tokens:,}",
                f"{deployment.usage.completion_tokens:,}",
                "" if deployment.error is None else deployment.error.message,
            ]
            for deployment in deployments
        ),
        empty="Nothing is deployed yet: reinforge deploy create ftjob-… --name NAME",
    )


@app.command()
def start(name: Name, wait: Wait = True, json: Json = False) -> None:
    """Start a stopped deployment."""
    with connect() as client:
        deployment = client.deployments.start(name)
        if wait:
            deployment = client.deployments.wait(deployment.id)
        _show(deployment, client.base_url, json=json)


@app.command()
def stop(
    name: Name,
    delete: Annotated[bool, typer.Option(help="Delete the deployment, which frees its name.")] = False,
    json: Json = False,
) -> None:
    """Stop a deployment. Running requests finish first."""
    with connect() as client:
        client.deployments.stop(name)
        deployment = client.deployments.wait(name)
        if delete:
            client.deployments.delete(name)
    if json:
        output.print_json(deployment)
    else:
        err.print(f"{deployment.name} is {'deleted' if delete else 'stopped'}")


@app.command()
def vllm(name: Name, json: Json = False) -> None:
    """Print the command that serves a deployment's weights with your own vLLM."""
    with connect() as client:
        deployment = client.deployments.get(name)
    if json:
        output.print_json(deployment.vllm)
        return
    for note in deployment.vllm.notes:
        err.print(f"[yellow]note[/yellow] {note}")
    if deployment.adapter is not None:
        err.print(f"reinforge adapter download {deployment.adapter} --to {deployment.vllm.folder}")
    elif deployment.job is not None and deployment.step is not None:
        of = f"{deployment.job} --step {deployment.step}"
        err.print(f"reinforge adapter download {of} --to {deployment.vllm.folder}", soft_wrap=True)
    if (template := deployment.vllm.chat_template) is not None:
        text = f"cat > chat_template.jinja <<'END'\n{template.rstrip()}\nEND"
        err.print(text, soft_wrap=True, markup=False, highlight=False)
    out.print(deployment.vllm.command, soft_wrap=True)


def _target(client: Reinforge, what: str, *, final: bool, step: int | None) -> dict[str, str]:
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


def _show(deployment: DeploymentInfo, url: str, *, json: bool) -> None:
    if json:
        output.print_json(deployment)
    elif deployment.error is None:
        err.print(
            f"{deployment.name} is {deployment.state}: request the model {deployment.name!r} from {url}/v1"
        )
        out.print(deployment.id)
    if deployment.state == "failed":
        assert deployment.error is not None
        err.print(
            f"[red]{deployment.name} could not be loaded[/red] {deployment.error.message} {deployment.error.hint or ''}"
        )
        raise typer.Exit(Exit.FAILED)
