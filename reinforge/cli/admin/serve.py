"""Commands that run on this machine: `reinforge up`, `demo`, `doctor` and `train`."""

import importlib.util
import json as jsonlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.markup import escape

from reinforge.cli import output
from reinforge.cli.exits import Exit
from reinforge.cli.jobs.defaults import push_parts
from reinforge.cli.jobs.watch import follow
from reinforge.cli.output import Json, Quiet, duration, err, number, out
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, Unavailable
from reinforge.evaluation.checkpoint_choice import describe_checkpoint
from reinforge.offline import demo as demo_job
from reinforge.offline import jobfile
from reinforge.offline import train as offline
from reinforge.platform.parent import watch_make
from reinforge.system.signals import Flag

Home = Annotated[Path, typer.Option(envvar="REINFORGE_HOME", help="Data folder.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")]


def _say(sentence: str) -> None:
    err.print(sentence, markup=False, style="dim", soft_wrap=True)


def need(*rooms: str) -> None:
    """Check that packages are installed. Raises Unavailable `platform_not_installed` if one is missing."""
    missing = [room for room in rooms if importlib.util.find_spec(room) is None]
    if missing:
        raise Unavailable(
            f"Only the client is installed; the platform's {' and '.join(missing)} are missing.",
            code="platform_not_installed",
            hint="Install the platform, reinforge-server[train] (docs/install.md#from-wheels), or use a server "
            "elsewhere (`reinforge login`).",
        )


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM, SIGINT, SIGHUP, and when a parent `make` ends."""
    interrupted = Flag()

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    previous = {s: signal.signal(s, interrupt) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    watch_make(interrupted, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        interrupted.set()


def up(
    home: Home = Path(".reinforge"),
    host: Host = "127.0.0.1",
    port: Port = 8321,
    first_demo: Annotated[
        bool, typer.Option("--demo/--no-demo", help="Start the demo job if no job exists yet.")
    ] = True,
) -> None:
    """Run the whole platform until Ctrl-C."""
    need("backend", "worker")
    from reinforge.platform.up import Platform

    with stop_on_signals():
        try:
            with Platform(home, host=host, port=port, first_demo=first_demo, say=_say) as platform:
                err.print(
                    f"Reinforge serves at [bold]{platform.url}[/bold]; data in {home.resolve()}",
                    soft_wrap=True,
                )
                if platform.sign_in_url:
                    err.print(f"Sign in (once): {platform.sign_in_url}", soft_wrap=True)
                if platform.starts_demo:
                    err.print("The demo job starts automatically; --no-demo prevents it.", soft_wrap=True)
                err.print("Ctrl-C stops everything.", style="dim")
                platform.wait()
        except KeyboardInterrupt:
            err.print("Stopped.", style="dim")


def demo(
    home: Home = Path(".reinforge"),
    host: Host = "127.0.0.1",
    port: Port = 8321,
    exit: Annotated[
        bool, typer.Option("--exit", help="Write demo-summary.json and stop after the job.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Train again even if a finished demo job exists.")
    ] = False,
    job_name: Annotated[
        demo_job.DemoName,
        typer.Option(
            "--job", help="additions: the model works sums out itself; tools: it calls a calculator."
        ),
    ] = "additions",
    job_file: Annotated[
        Path | None, typer.Option("--file", help="Job file of the demo, in place of --job.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine", help="Rollout engine: transformers or vllm. Default: the engine in the file."
        ),
    ] = None,
) -> None:
    """Train the starter model with a demo job, show the result, and serve until Ctrl-C."""
    need("backend", "worker")
    from reinforge.platform.up import Platform

    spec = demo_job.with_engine(jobfile.load(job_file or demo_job.job_file(job_name)), engine)
    home.mkdir(parents=True, exist_ok=True)
    key = demo_job.demo_key(home)
    Path("demo-summary.json").unlink(missing_ok=True)
    with stop_on_signals():
        try:
            with (
                Platform(home, host=host, port=port, bootstrap_api_key=key, say=_say) as platform,
                Reinforge(platform.url, key) as client,
            ):
                link = client.sign_in_link()
                err.print(f"The page: [bold]{link}[/bold]", soft_wrap=True)
                result = _run_demo(client, spec, home, again=again)
                if exit:
                    Path("demo-summary.json").write_text(
                        jsonlib.dumps(result, indent=2) + "\n", encoding="utf-8"
                    )
                    return
                err.print(f"\nServing at [bold]{platform.url}[/bold] until Ctrl-C.", soft_wrap=True)
                platform.wait()
        except KeyboardInterrupt:
            err.print("Stopped.", style="dim")
            raise typer.Exit(Exit.INTERRUPTED if exit else Exit.OK) from None


def _run_demo(client: Reinforge, spec: Any, home: Path, *, again: bool) -> dict[str, Any]:
    begin = time.monotonic()
    job, exists = demo_job.find_or_start(client, spec, push_parts, again=again)
    if exists:
        err.print(
            f"The demo job exists already ({job.id}, {job.status}); train again with: reinforge demo --again"
        )
    job = follow(client, job.id)
    result = demo_job.summary(client, job, home)
    for prompt, before, after in demo_job.examples(client, job):
        out.print(f"\n[bold]{escape(prompt.strip())}[/bold]")
        for when, row in (("before", before), ("after ", after)):
            calls = f"{row.tool_calls} tool call{'s' * (row.tool_calls > 1)}, then " if row.tool_calls else ""
            out.print(
                f"  {when}  [{number(row.reward)}]  {calls}{row.text.strip()}", markup=False, soft_wrap=True
            )
    out.print(
        f"\nHeld-out reward [bold]{number(result['reward_before'])} → {number(result['reward_after'])}[/bold], "
        f"completion length {number(result['length_before'], 1)} → {number(result['length_after'], 1)} tokens, "
        f"{result['steps']} steps in {duration(result['seconds'])} (here {duration(time.monotonic() - begin)})",
        soft_wrap=True,
    )
    checkpoint = describe_checkpoint(job, demo_job.chosen_checkpoint(client, job))
    out.print(f"Adapter: {result['adapter_path']} ({checkpoint})", soft_wrap=True, markup=False)
    out.print(f"Job:     {result['url']}", soft_wrap=True, markup=False)
    return result


def doctor(
    home: Home = Path(".reinforge"),
    port: Annotated[
        int | None,
        typer.Option(help="Port to check. Default: the port of the platform running on --home, else 8321."),
    ] = None,
    json: Json = False,
) -> None:
    """Check this machine and report what is missing. Exit 1 if the platform cannot run here."""
    from reinforge.platform.doctor import run_checks

    checks = run_checks(home, port=port)
    if json:
        output.print_json(
            [{"name": c.name, "status": c.status, "message": c.message, "remedy": c.remedy} for c in checks]
        )
    else:
        colours = {"ok": "green", "warn": "yellow", "fail": "red"}
        for check in checks:
            out.print(
                f"[{colours[check.status]}]{check.status:>4}[/]  {check.name:<12} {escape(check.message)}",
                soft_wrap=True,
            )
            if check.remedy and check.status != "ok":
                out.print(f"{'':>20}{escape(check.remedy)}", style="dim", soft_wrap=True)
    if any(check.status == "fail" for check in checks):
        raise typer.Exit(Exit.FAILED)


def train(
    file: Annotated[Path, typer.Argument(help="Job file (YAML or JSON).")],
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="New folder for records and adapter.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a job without a server, with the workers' trainer. Records (JSONL) and adapter go to a folder."""
    need("worker")
    spec = jobfile.load(file)
    folder = (out_folder or Path("runs") / time.strftime("%Y%m%d-%H%M%S")).resolve()
    if folder.is_file():
        raise InvalidInput(f"{folder} is a file, but --out needs a folder.", code="out_exists", param="--out")
    result = offline.train(spec, folder)
    if json:
        output.print_json(result | {"out": str(folder)})
    elif not quiet:
        adapter = folder / "adapter"
        err.print(
            f"{result['outcome']} after step {result['step']}"
            + (f": {result['message']}" if result.get("message") else "")
        )
        if result.get("hint"):
            err.print(f"[dim]hint[/dim]  {escape(str(result['hint']))}")
        out.print(str(adapter if adapter.exists() else folder), soft_wrap=True)
    if result["outcome"] != "succeeded":
        raise typer.Exit(Exit.FAILED)
