"""Command `reinforge rollout serve`."""

import signal
from types import FrameType
from typing import Annotated

import typer

from reinforge.cli.connection import connect
from reinforge.cli.output import err
from reinforge.runner.runner import RolloutRunner

app = typer.Typer(help="Rollouts of jobs with environment `agent`.", no_args_is_help=True)


@app.callback()
def rollouts() -> None:
    return


@app.command()
def serve(
    function: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION", help="Function that gets a task and returns a reward or None."
        ),
    ],
    job: Annotated[str, typer.Option(help="Id of the job.")],
    concurrency: Annotated[
        int, typer.Option(min=1, max=256, help="Maximum number of rollouts at a time.")
    ] = 8,
) -> None:
    """Run FUNCTION(task) for each rollout of a job, until the job has ended.

    Each rollout runs in its own process with OPENAI_BASE_URL and OPENAI_API_KEY set. With the decorator
    `reads_task`, all share one process. The server never connects to this machine. Ctrl-C or SIGTERM returns
    unfinished rollouts to the server.
    """
    with connect() as client:
        runner = RolloutRunner(
            client, job, function, concurrency=concurrency, note=lambda line: err.print(line, markup=False)
        )
        _stop_on_signals(runner)
        err.print(f"Waiting for rollouts of {job}", markup=False)
        counts = runner.run()
        line = f"{counts.succeeded} rollouts succeeded, {counts.failed} failed"
        err.print(f"{line}, {counts.ended_elsewhere} were ended by the server", markup=False)


def _stop_on_signals(runner: RolloutRunner) -> None:
    """The first SIGINT or SIGTERM stops the runner; the second ends this process at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        runner.stop()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
