"""`python -m worker` runs training jobs; `python -m worker calls` is the RPC worker."""

import argparse
import logging
import sys

from reinforge.errors import ReinforgeError
from reinforge.system import logs, tracing
from reinforge.system.imports import without_collection
from reinforge.system.launch import raise_oom_score
from worker.machine.gpu_assignment import pools
from worker.machine.gpus import list_gpus
from worker.settings import read_settings

CALLS_OOM_SCORE = 200
"""OOM score: the kernel kills the RPC worker after trainers and served models, before API and database."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    parser.add_argument(
        "role",
        nargs="?",
        choices=("jobs", "calls"),
        default="jobs",
        help="jobs: run training jobs, one at a time (default); calls: validate, score, render, inspect, sample",
    )
    role = parser.parse_args(arguments).role
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        logs.configure("calls" if role == "calls" else "worker")
        settings = read_settings()
        settings.required_token()
        tracing.configure("calls" if role == "calls" else "worker")
        if role == "calls":
            with without_collection():
                from worker.rpc.server import serve

            raise_oom_score(CALLS_OOM_SCORE)
            serve(settings)
        else:
            pools(list_gpus(), settings)  # what cannot be placed is said at the start
            _run_jobs()
    except ReinforgeError as error:
        sys.stderr.write(f"{error.message}\n{error.hint or ''}\n")
        return 2
    finally:
        tracing.shut_down()
    return 0


def _run_jobs() -> None:
    with without_collection():
        from worker.celery_app import QUEUE, app

    # solo: the supervisor runs in the process's main thread, which lives as long as the worker; the kernel ends
    # a trainer with the thread that started it.
    app.worker_main(
        [
            "--quiet",
            "worker",
            "--pool=solo",
            "--concurrency=1",
            f"--queues={QUEUE}",
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            "--loglevel=INFO",
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
