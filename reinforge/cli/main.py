"""Entry point of `reinforge`, which prints expected errors without a traceback."""

import sys
from typing import Annotated, Any

import httpx
import typer
from rich.markup import escape

from reinforge import __version__
from reinforge.cli import chat, data, deploy, elsewhere, imports, rollouts, tools
from reinforge.cli.admin import backup, budgets, people, serve, top, trackers, webhooks, workers
from reinforge.cli.connection import connect, store
from reinforge.cli.evaluation import evaluate, gate, golden, judges, library, rewards
from reinforge.cli.exits import Exit, exit_code
from reinforge.cli.jobs import commands, examples, preflight, presets, sweeps
from reinforge.cli.output import Json, err, out, print_error, print_json
from reinforge.cli.publish import merge, push
from reinforge.cli.release import aliases
from reinforge.cli.repeat import bisect, bundles, diverge
from reinforge.cli.results import compare
from reinforge.client import Reinforge
from reinforge.client.protocol import ServerUnreachable, error_from
from reinforge.errors import InvalidInput, NotAuthenticated, ReinforgeError

NO_INPUT = "--no-input"
app = typer.Typer(
    help="Reinforcement fine-tuning on your own machines: prompts and a reward in, an adapter out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(serve.up)
app.command()(serve.demo)
app.command()(serve.doctor)
app.command()(top.top)
app.command()(serve.train)
app.command()(backup.backup)
app.command()(backup.restore)
app.command("import")(imports.import_project)
app.command()(preflight.preflight)
app.command()(chat.chat)
app.command("eval")(evaluate.evaluate)
app.command()(gate.gate)
app.command()(compare.compare)
app.command()(bundles.bundle)
app.command()(bundles.reproduce)
app.command()(diverge.diverge)
app.command()(bisect.bisect)
app.command()(aliases.promote)
app.add_typer(aliases.app, name="alias")
app.add_typer(data.datasets, name="dataset")
rewards.app.add_typer(golden.app, name="golden")
rewards.app.add_typer(library.app, name="library")
app.add_typer(rewards.app, name="reward")
app.add_typer(tools.app, name="tools")
app.add_typer(judges.app, name="judge")
app.add_typer(data.models, name="models")
app.add_typer(commands.app, name="job")
app.add_typer(sweeps.app, name="sweep")
app.add_typer(rollouts.app, name="rollout")
data.adapters.command("merge")(merge.merge)
app.add_typer(data.adapters, name="adapter")
app.command()(push.push)
app.add_typer(deploy.app, name="deploy")
app.add_typer(presets.app, name="presets")
app.add_typer(examples.app, name="example")
app.add_typer(people.projects, name="project")
app.add_typer(people.keys, name="key")
app.add_typer(people.members, name="member")
app.command()(people.usage)
app.add_typer(workers.app, name="worker")
app.add_typer(webhooks.app, name="webhook")
app.add_typer(trackers.app, name="tracker")
app.add_typer(budgets.budgets, name="budget")
app.command()(budgets.audit)


def _version(value: bool) -> None:
    if value:
        out.print(__version__)
        raise typer.Exit


@app.callback()
def options(
    no_input: Annotated[
        bool,
        typer.Option(NO_INPUT, help="Never ask for input; a command that needs it fails with a usage error."),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    # No command prompts: all input comes from options, arguments and files.
    return


@app.command()
def version() -> None:
    """Print the version."""
    out.print(__version__)


@app.command()
def login(
    address: Annotated[
        str,
        typer.Argument(
            help="The one-time sign-in URL that the server printed, the server's address, or an API key."
        ),
    ],
    key: Annotated[str | None, typer.Option(help="An API key; not needed with a sign-in URL.")] = None,
) -> None:
    """Save a server's address and your API key in a file that only you can read."""
    if address.startswith("rf-"):
        url, key = _server_of(address), address
        err.print(f"Signed in to {url}; the key is in {store(url, key)}.")
        return
    url, _, token = address.partition("/sign-in?token=")
    url = url.rstrip("/")
    if key is None:
        if not token:
            raise InvalidInput(
                "Give the sign-in URL that the server printed, or its address and a key.",
                code="usage",
                hint=f"reinforge login {url} --key rf-…  (create a key in Settings → API keys)",
            )
        key = _key_for(url, token)
    path = store(url, key)
    err.print(f"Signed in to {url}; the key is in {path}.")


@app.command()
def whoami(json: Json = False) -> None:
    """Show the server, project and role that the command line uses."""
    with connect() as client:
        me = client.me()
        if json:
            print_json(me)
            return
        out.print(f"server   {client.base_url} ({me.version})", soft_wrap=True)
        out.print(f"project  {me.project_name} ({me.project})", markup=False, soft_wrap=True)
        out.print(f"as       {me.name} ({me.key}), {me.role}", markup=False, soft_wrap=True)
        if me.scopes is not None:
            out.print(f"scopes   {', '.join(me.scopes)}")


def _server_of(key: str) -> str:
    """Check the key; returns the configured server's address. Raises NotAuthenticated, ServerUnreachable."""
    with Reinforge(api_key=key, retries=0) as client:
        hint = "If the key is for another server, give that server's address: reinforge login URL --key rf-…"
        try:
            client.me()
        except NotAuthenticated as error:
            raise NotAuthenticated(f"{client.base_url} does not accept this key.", hint=hint) from error
        except ServerUnreachable as error:
            raise ServerUnreachable(error.message, hint=hint) from error
        return client.base_url


def _key_for(url: str, token: str) -> str:
    try:
        with httpx.Client(base_url=f"{url}/api/v1", timeout=20, headers={"origin": url}) as http:
            me = _posted(http, "/sign-in", {"token": token})
            body: dict[str, Any] = {"name": "command line", "role": "owner"}
            if me.get("administrator"):
                body["administrator"] = True  # an administrator stays one here
            return str(_posted(http, "/keys", body)["key"])
    except httpx.TransportError as error:
        raise ServerUnreachable(f"No answer from {url}: {error}.") from error


def _posted(http: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = http.post(path, json=body)
    if answer.status_code >= 400:
        raise error_from(answer)
    document: dict[str, Any] = answer.json()
    return document


def anywhere(arguments: list[str]) -> list[str]:
    """Move `--no-input` to the front, so that it is accepted anywhere."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if NO_INPUT not in arguments[:end]:
        return arguments
    return [NO_INPUT, *(argument for argument in arguments[:end] if argument != NO_INPUT), *arguments[end:]]


def main() -> None:
    """Run the command line; exits with a code of `Exit`."""
    try:
        code = app(args=anywhere(sys.argv[1:]), standalone_mode=False)
    except ReinforgeError as error:
        print_error(error)
        code = exit_code(error)
    except TimeoutError as error:
        err.print(f"[red]error[/red] {error}")
        code = Exit.TIMEOUT
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except OSError as error:
        err.print(f"[red]error[/red] {error}", markup=True)
        code = Exit.USAGE
    except typer.Abort:
        code = Exit.USAGE
    except Exception as error:
        show = getattr(error, "show", None)  # a usage error of the command-line parser prints itself
        if show is None:
            raise
        show()
        if where := elsewhere.hint(error):
            err.print(f"[dim]hint[/dim]  {escape(where)}", soft_wrap=True)
        code = Exit.USAGE
    sys.exit(int(code or 0))


if __name__ == "__main__":
    main()
