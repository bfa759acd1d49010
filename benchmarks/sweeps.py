"""Runs the sweeps of `examples/sweeps` to their end, by one command each, on a platform of its own.

Of each: every job's held-out reward, and what the comparison page says that the command ends in: means and ranges over
seeds, differences with their 95% intervals, verdicts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

from common.measure import ROOT, stamp, table, write

from reinforge.client import Reinforge
from reinforge.platform.up import Platform
from reinforge.schemas.comparison import HeldOutDifference, HeldOutEstimate, JobComparison
from reinforge.schemas.sweeps import SweepDetail

FOLDER = ROOT / "examples" / "sweeps"
FILES = ("algorithms.yaml", "dapo-ladder.yaml")
KEY = "rf-sweeps-owner-key-0123456789abcdef"


def run(file: str, url: str) -> dict[str, Any]:
    environment = os.environ | {"REINFORGE_URL": url, "REINFORGE_API_KEY": KEY, "NO_COLOR": "1"}
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "reinforge.cli.main", "sweep", str(FOLDER / file), "--wait"],
        env=environment | {"COLUMNS": "200"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - start
    print(done.stdout, flush=True)
    address = urlparse(done.stdout.split()[-1])
    query = parse_qs(address.query)
    group = query.get("group", [None])[0]
    with Reinforge(url, KEY) as client:
        sweep = client.sweeps.get(_sweep_of(client, query["jobs"][0].split(",")[0]))
        comparison = client.jobs.compare(query["jobs"][0].split(","), group=group)
    return {
        "file": file,
        "exit_code": done.returncode,
        "status": sweep.status,
        "seconds": round(seconds),
        "worker_seconds": round(sweep.seconds),
        "best": sweep.best and sweep.best.model_dump(include={"setting", "trial", "objective", "step"}),
        "jobs": _jobs(sweep),
        "compared": _groups(comparison) if group else _compared_jobs(comparison),
    }


def _sweep_of(client: Reinforge, job: str) -> str:
    return str(client.jobs.get(job).spec["metadata"]["sweep"])


def _jobs(sweep: SweepDetail) -> list[dict[str, Any]]:
    return [
        {
            "setting": trial.name,
            "seed": trial.seed,
            "state": trial.status,
            "held_out": _rounded(trial.objective),
            "step": trial.objective_step,
            "seconds": round(trial.seconds),
        }
        for trial in sweep.trials
    ]


def _groups(comparison: JobComparison) -> list[dict[str, Any]]:
    return [
        {
            "name": group.label,
            "jobs": len(group.jobs),
            "held_out": group.held_out
            and [
                _rounded(group.held_out.mean),
                _rounded(group.held_out.minimum),
                _rounded(group.held_out.maximum),
            ],
            "difference": _interval(group.difference),
            "verdict": group.verdict,
            "notes": group.notes,
        }
        for group in comparison.groups
    ]


def _compared_jobs(comparison: JobComparison) -> list[dict[str, Any]]:
    """In the order of the ladder."""
    return [
        {
            "name": job.name,
            "held_out_before": _rounded(job.held_out_before),
            "held_out": _interval(job.held_out),
            "difference": _interval(job.difference),
            "verdict": job.verdict,
            "notes": job.notes,
        }
        for job in comparison.jobs
    ]


def _interval(estimate: HeldOutEstimate | HeldOutDifference | None) -> list[float] | None:
    """Value, low and high of the 95% interval."""
    return None if estimate is None else [round(n, 3) for n in (estimate.value, estimate.low, estimate.high)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--home", type=Path, help="folder of the platform, which stays (default: a temporary one)"
    )
    arguments = parser.parse_args()
    origin = stamp("torch")
    with (
        tempfile.TemporaryDirectory(prefix="rf-sweeps-") as temporary,
        Platform(arguments.home or Path(temporary), port=0, bootstrap_api_key=KEY, say=print) as platform,
    ):
        results = [run(file, platform.url) for file in FILES]
    table(
        ("setting", "held-out", "difference"),
        [
            (one["name"], one["held_out"], one["difference"])
            for result in results
            for one in result["compared"]
        ],
    )
    write("sweeps", origin | {"sweeps": results}, depth=6)
    return int(any(result["status"] != "succeeded" for result in results))


if __name__ == "__main__":
    sys.exit(main())
