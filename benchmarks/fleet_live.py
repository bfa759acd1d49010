"""The load that matters: many jobs report a step a second each, with completions and their arrays, while people watch.

Each job sends a step a second through the worker API with its own token: the step's Parquet object (128 completions
of 1,000 tokens: token ids, pieces, two log-probabilities and an entropy each), then phases, narrow rows and 40 metrics.
50 viewers hold event streams and ask for jobs, series, completions, groups and write labels (`fleet/viewers.py`). The
backend is real (api, background, durable PostgreSQL 18, a folder for objects); whoever makes the load runs in two
processes of its own, whose CPU time is counted separately.

A load holds when nothing is lost (steps, completions, objects, events of any viewer), steps are not late at the end,
the group view's 95th percentile is within 150 ms, and the 99th percentile of the mix 60 % job reads, 20 % series, 10 %
completions, 10 % writes is within 100 ms. Loads grow until one does not; the largest that held is run for longer.
Before, one job without viewers sends steps one after the other: the unit cost.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.backend import KEY, Backend, ClaimedJob
from common.cpu import Account
from common.measure import ROOT, machine, parser, table, write
from fleet.steps import METRICS, PROMPTS, RECORDS_PER_STEP, SAMPLES, Words, template

COMPLETIONS = PROMPTS * SAMPLES
TOKENS = 1000
VIEWERS = 50
THINK_SECONDS, GROUP_SECONDS = 2.5, 10.0
GROUP_P95, MIX_P99, LATE = 0.150, 0.100, 5.0
LOADS = (2, 4, 8, 16, 32, 64)
PATIENCE = 30.0
"""Seconds after the last step that a viewer's last event may take."""
TEMPLATES = 4
MIX = ("job", "series", "completions", "write")


@dataclass(frozen=True)
class Load:
    jobs: int
    steps: int
    pace: float = 1.0
    """Seconds between two steps of a job; 0: one after the other."""
    viewers: int = VIEWERS


class Fleet:
    def __init__(self, backend: Backend, folder: Path, tokens: int) -> None:
        self._backend, self._folder = backend, folder
        self._dataset = backend.add_dataset()
        self._templates, self._ends = folder / "templates.pickle", folder / "ends.json"
        made = [template(seed, tokens) for seed in range(TEMPLATES)]
        self._templates.write_bytes(pickle.dumps(made))
        words = Words(0)
        self._words = [words.word(rank) for rank in (0, 3, 40, 400, 4000, 19_000)]

    def run(self, load: Load) -> dict[str, Any]:
        """One load from its first step to the last answer; all its figures."""
        backend = self._backend
        jobs = [backend.start_job(self._dataset) for _ in range(load.jobs)]
        begin = time.time() + 2.0
        common = {"url": backend.url, "key": KEY, "begin": begin, "first_step": 1}
        plan = common | {
            "jobs": [vars(job) for job in jobs], "steps": load.steps, "pace": load.pace,
            "templates": str(self._templates),
        }  # fmt: skip
        view = common | {
            "jobs": [job.id for job in jobs], "seconds": load.steps * load.pace, "viewers": load.viewers,
            "think": THINK_SECONDS, "group": GROUP_SECONDS, "patience": PATIENCE, "words": self._words,
            "after": {job.id: self._seq(job) for job in jobs}, "ends": str(self._ends),
        }  # fmt: skip
        self._ends.unlink(missing_ok=True)
        before, account = self._bytes(), backend.account()
        children = {"workers": self._spawn("workers", plan)}
        if load.viewers:
            children["viewers"] = self._spawn("viewers", view)
        makers = Account({name: process.pid for name, process in children.items()})
        children["workers"].wait()
        seconds, cpu, made_by = time.time() - begin, account.seconds(), makers.seconds()
        ends_file = self._ends.with_suffix(".new")
        ends_file.write_text(json.dumps({"at": time.time(), "seq": {job.id: self._seq(job) for job in jobs}}))
        ends_file.rename(self._ends)
        for process in children.values():
            process.wait()
        outputs = {name: json.loads((self._folder / f"{name}-out.json").read_text()) for name in children}
        result = self._summary(load, jobs, outputs, seconds)
        grown = {name: size - before[name] for name, size in self._bytes().items()}
        self._end(jobs)
        result["cpu_seconds"] = cpu | {
            f"load: {name}": seconds_of_load for name, seconds_of_load in made_by.items()
        }
        result["bytes_per_completion"] = {
            name: size / max(1, result["steps"] * COMPLETIONS) for name, size in grown.items()
        }
        return result | {"load_after": round(os.getloadavg()[0], 1)}

    def _spawn(self, name: str, plan: dict[str, Any]) -> subprocess.Popen[bytes]:
        plan_file, out = self._folder / f"{name}.json", self._folder / f"{name}-out.json"
        plan_file.write_text(json.dumps(plan))
        out.unlink(missing_ok=True)
        environment = os.environ | {"PYTHONPATH": f"{ROOT / 'benchmarks'}:{ROOT}"}
        return subprocess.Popen(
            [sys.executable, "-m", f"fleet.{name}", str(plan_file), str(out)], env=environment
        )

    def _summary(
        self, load: Load, jobs: list[ClaimedJob], outputs: dict[str, Any], seconds: float
    ) -> dict[str, Any]:
        workers = outputs["workers"]["jobs"]
        steps = [step for worker in workers for step in worker["steps"]]
        viewers = outputs.get("viewers", {"asked": [], "missing": 0, "seen": [], "failures": []})
        ends = {job.id: self._seq(job) for job in jobs}
        lost = self._lost(workers) | {
            "steps not sent": load.jobs * load.steps - len(steps),
            "events missed": viewers["missing"] + sum(ends[job] - last for job, last in viewers["seen"]),
        }
        by_kind: dict[str, list[float]] = {}
        for what, _, latency in viewers["asked"]:
            by_kind.setdefault(what, []).append(latency)
        mix = [latency for what in MIX for latency in by_kind.get(what, [])]
        slow = Counter(int(at) for what, at, latency in viewers["asked"] if what in MIX and latency > MIX_P99)
        last = [worker["steps"][-1]["late"] for worker in workers if worker["steps"]]
        result = {
            "jobs": load.jobs, "viewers": load.viewers, "seconds": seconds, "steps": len(steps), "lost": lost,
            "failures": viewers["failures"] + [job["failure"] for job in workers if job["failure"]],
            "late_at_the_end": max(last, default=0.0), "late_p95": _at(0.95, [step["late"] for step in steps]),
            "group_p95": _at(0.95, by_kind.get("group", [])), "mix_p99": _at(0.99, mix), "requests": len(mix),
            "p50_p95_p99": {what: [_at(part, times) for part in (0.5, 0.95, 0.99)] for what, times in by_kind.items()},
            "slow_seconds": sorted(slow.items()),
            "raw": {"steps": steps, "asked": viewers["asked"]},
        }  # fmt: skip
        result["holds"] = (
            not result["failures"] and not any(lost.values()) and result["late_at_the_end"] <= LATE
        )
        result["within"] = {
            "group_p95": result["group_p95"] <= GROUP_P95,
            "mix_p99": result["mix_p99"] <= MIX_P99,
        }
        return result

    def _lost(self, workers: list[dict[str, Any]]) -> dict[str, int]:
        """What was acknowledged and is not there."""
        ids, sent = [job["job"] for job in workers], sum(len(job["steps"]) for job in workers)
        with self._backend.connect() as connection:

            def count(query: str) -> int:
                row = connection.execute(query.encode(), (ids,)).fetchone()
                assert row is not None
                return int(row[0])

            points = "FROM metric_point p JOIN metric_series s ON s.id = p.series_id WHERE s.job_id = ANY(%s)"
            stored = "FROM step_rollouts r JOIN stored_object o USING (sha256) WHERE o.state = 'stored' AND"
            return {
                "completions": sent * COMPLETIONS
                - count("SELECT count(*) FROM completion WHERE job_id = ANY(%s)"),
                "points": sent * METRICS - count(f"SELECT count(*) {points}"),
                "objects": sent - count(f"SELECT count(DISTINCT sha256) {stored} r.job_id = ANY(%s)"),
                "records": sent * RECORDS_PER_STEP
                - count("SELECT sum(last_sequence - 1) FROM attempt WHERE job_id = ANY(%s)"),
            }

    def _seq(self, job: ClaimedJob) -> int:
        with self._backend.connect() as connection:
            row = connection.execute("SELECT seq FROM job WHERE id = %s", (job.id,)).fetchone()
        assert row is not None
        return int(row[0])

    def _bytes(self) -> dict[str, int]:
        with self._backend.connect() as connection:
            row = connection.execute(
                "SELECT pg_database_size(current_database()), sum(bytes) FROM stored_object"
            ).fetchone()
        assert row is not None
        return {"database": int(row[0]), "objects": int(row[1] or 0)}

    def _end(self, jobs: list[ClaimedJob]) -> None:
        for job in jobs:
            self._backend.api.post(f"/jobs/{job.id}/cancel")
        with self._backend.connect() as connection:
            connection.execute(
                "UPDATE job SET lease_until = now() WHERE id = ANY(%s)", ([job.id for job in jobs],)
            )


def _at(part: float, values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def unit_cost(fleet: Fleet, steps: int) -> dict[str, float]:
    """CPU milliseconds of the backend and the database for one step of one job that nobody watches."""
    result = fleet.run(Load(1, steps, pace=0.0, viewers=0))
    ms = {name: 1e3 * result["cpu_seconds"][name] / steps for name in ("api", "background", "postgres")}
    total = sum(ms.values())
    sizes = result["bytes_per_completion"]
    return {
        **{f"{name}_ms_per_step": milliseconds for name, milliseconds in ms.items()},
        "ms_per_step": total, "ms_per_completion": total / COMPLETIONS, "seconds_per_step": result["seconds"] / steps,
        "database_bytes_per_completion": sizes["database"], "object_bytes_per_completion": sizes["objects"],
    }  # fmt: skip


def show(runs: list[dict[str, Any]]) -> None:
    rows = []
    for run in runs:
        cpu = run["cpu_seconds"]
        backend = sum(cpu[name] for name in ("api", "background", "postgres")) / run["seconds"]
        makers = (
            sum(seconds_of_load for name, seconds_of_load in cpu.items() if name.startswith("load:"))
            / run["seconds"]
        )
        lost = sum(run["lost"].values())
        held = "holds" if run["holds"] and all(run["within"].values()) else "does not"
        if run["holds"] and held == "does not":
            held = "keeps up, slow answers"
        cells = (run["group_p95"] * 1e3, run["mix_p99"] * 1e3, backend, makers)
        rows.append(
            (
                run["jobs"],
                run["steps"],
                lost,
                f"{run['late_at_the_end']:.1f}",
                *cells,
                run["load_after"],
                held,
            )
        )
    head = (
        "jobs",
        "steps",
        "lost",
        "late s",
        "group p95 ms",
        "mix p99 ms",
        "cores: backend",
        "load maker",
        "load",
        "",
    )
    table(head, rows)


def largest(runs: list[dict[str, Any]]) -> int:
    """Jobs of the largest load that held in every way; else of the largest that kept up; 0 for none."""
    full = [run["jobs"] for run in runs if run["holds"] and all(run["within"].values())]
    return max(full or [run["jobs"] for run in runs if run["holds"]], default=0)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, nargs="+", help=f"loads, growing (default: {LOADS})")
    options.add_argument("--seconds", type=int, help="of each load (default: 40)")
    options.add_argument(
        "--long", type=int, help="seconds of the largest that held (default: 300; 0: not again)"
    )
    options.add_argument("--viewers", type=int, default=VIEWERS)
    options.add_argument("--json", type=Path, metavar="OUT", help="also write the result there")
    return options.parse_args()


def main() -> None:
    options = _options()
    seconds = options.seconds or (10 if options.quick else 40)
    long = options.long if options.long is not None else (0 if options.quick else 300)
    about = machine("reinforge", "fastapi", "uvicorn", "psycopg", "sqlalchemy", "pyarrow")
    with tempfile.TemporaryDirectory(prefix="rf-fleet-") as folder, Backend() as backend:
        fleet = Fleet(backend, Path(folder), TOKENS)
        unit = unit_cost(fleet, 10 if options.quick else 60)
        print(", ".join(f"{name} {value:.3g}" for name, value in unit.items()), flush=True)
        runs: list[dict[str, Any]] = []
        for jobs in options.jobs or ((2,) if options.quick else LOADS):
            runs.append(fleet.run(Load(jobs, seconds, viewers=options.viewers)))
            show(runs[-1:])
            print(
                f"{runs[-1]['failures'][:2]} {runs[-1]['lost']}" if not runs[-1]["holds"] else "", flush=True
            )
            if not runs[-1]["holds"]:
                break
        if long and (jobs := largest(runs)):
            runs.append(fleet.run(Load(jobs, long, viewers=options.viewers)))
    show(runs)
    settings = {
        "completions": COMPLETIONS,
        "tokens": TOKENS,
        "viewers": options.viewers,
        "think": THINK_SECONDS,
    }
    result = {
        "machine": about,
        "settings": settings,
        "unit_cost": unit,
        "largest": largest(runs),
        "runs": runs,
    }
    write("fleet_live", result, depth=4)
    if options.json is not None:
        options.json.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
