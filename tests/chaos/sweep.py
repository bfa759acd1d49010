"""A sweep whose processes are killed one after another; every trial has to end exactly once.

    make proof-sweep-kills

Writes `benchmarks/results/sweep_kills.json`. Exits with 1 if a trial was lost, doubled or did not succeed.
"""

import json
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from common.measure import stamp, write  # noqa: E402

from tests.chaos.points import kill_targets  # noqa: E402
from tests.chaos.running import FINAL, STEPS, Bench, job_file, wait_until  # noqa: E402

VICTIMS = ("background", "api", "postgres", "worker", "trainer", "calls", "sandbox", "up", kill_targets.TREE)
RANKS = [2, 4, 8, 16]
SEEDS = [11, 12]
TRIALS = len(RANKS) * len(SEEDS)
PARALLEL = 2
BETWEEN = 3
"""Steps and ended trials between two kills, so that each hits a sweep that advances."""
ENDS_AFTER_KILL = 30.0
ADVANCES_WITHIN = 300.0
ENDS_WITHIN = 600.0


@dataclass
class Kill:
    victim: str
    processes: int
    """That received SIGKILL."""
    trials: dict[str, int]
    """Status → trials, just before."""
    advanced_s: float
    """Seconds until the sweep advanced again."""


class KilledSweep:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.kills: list[Kill] = []
        self.id = ""
        self.attempts: list[int] = []
        self.pauses: list[str] = []

    def run(self) -> dict[str, Any]:
        """The sweep at its end."""
        self.id = self._create()
        self._await(lambda view: _progress(view) >= BETWEEN, "the first steps", ADVANCES_WITHIN)
        for victim in VICTIMS:
            self._kill(victim)
        return self._await(lambda view: view["status"] != "running", "the end", ENDS_WITHIN)

    def _create(self) -> str:
        parameters = {"adapter.rank": RANKS}
        body = {
            "job": job_file(self.bench.dataset),
            "parameters": parameters,
            "seeds": SEEDS,
            "parallel": PARALLEL,
        }
        return str(self.bench.request("POST", "/sweeps", json=body).json()["id"])

    def _kill(self, victim: str) -> None:
        if victim == "trainer":
            assert wait_until(self.bench.trainers, ADVANCES_WITHIN), "no trainer runs"
        before = self._view()
        struck = self.bench.strike((victim,), signal.SIGKILL)
        at = time.monotonic()
        if victim in ("up", kill_targets.TREE):
            assert wait_until(self.bench.revive, ENDS_AFTER_KILL), "the killed platform still runs"
        self.bench.await_ready()
        goal = _progress(before) + BETWEEN
        self._await(
            lambda view: _progress(view) >= goal or view["status"] != "running", victim, ADVANCES_WITHIN
        )
        self.kills.append(Kill(victim, len(struck), before["counts"], round(time.monotonic() - at, 1)))
        print(self.kills[-1], flush=True)

    def _view(self) -> dict[str, Any]:
        return dict(self.bench.request("GET", f"/sweeps/{self.id}").json())

    def _await(self, condition: Any, what: str, within: float) -> dict[str, Any]:
        deadline = time.monotonic() + within
        while not condition(view := self._view()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not within {within:.0f} s: {json.dumps(view['trials'])}")
            self._resume(view)
            time.sleep(0.3)
        return view

    def _resume(self, view: dict[str, Any]) -> None:
        """What a user does about a job that is paused by itself."""
        for trial in view["trials"]:
            if trial["status"] == "paused":
                self.pauses.append(f"trial {trial['number']}: {self.bench.look(trial['job'])}"[:300])
                self.bench.request("POST", f"/jobs/{trial['job']}/resume")

    def faults(self, view: dict[str, Any]) -> list[str]:
        """What was lost, doubled or different from what the sweep file says."""
        trials = view["trials"]
        query = (
            "SELECT id, (resolved_spec->'metadata'->>'trial')::int,"
            " (SELECT count(*) FROM attempt WHERE job_id = job.id) FROM job"
            " WHERE resolved_spec->'metadata'->>'sweep' = %s ORDER BY 2"
        )
        jobs = self.bench.sql(query, self.id)
        expected = [(rank, seed) for rank in RANKS for seed in SEEDS]
        checks = {
            "the sweep has not succeeded": view["status"] == "succeeded" and view["reason"] is None,
            "trials are lost or doubled": [one["number"] for one in trials] == list(range(TRIALS)),
            "settings differ": [(one["parameters"]["adapter.rank"], one["seed"]) for one in trials]
            == expected,
            "jobs are lost or doubled": [(one["job"], one["number"]) for one in trials]
            == [job[:2] for job in jobs],
            "a job has not succeeded": all(one["status"] == "succeeded" for one in trials),
            "steps are missing": all(one["step"] == STEPS for one in trials),
            "an evaluation is missing": all(one["objective"] is not None for one in trials),
            "an adapter is missing or shared": len({one["adapter"] for one in trials} - {None}) == TRIALS,
            "a kill came after the end": not any(set(kill.trials) <= set(FINAL) for kill in self.kills),
            "a kill hit no process": all(kill.processes for kill in self.kills),
            "a victim is missing": [kill.victim for kill in self.kills] == list(VICTIMS),
        }
        self.attempts = [attempts for _, _, attempts in jobs]
        return [fault for fault, holds in checks.items() if not holds]


def _progress(view: dict[str, Any]) -> int:
    """Steps of all trials, and one more for a trial that has ended."""
    return sum(int(one["step"]) + (one["status"] in FINAL) for one in view["trials"])


def record() -> dict[str, Any]:
    with Bench(mounts=False) as bench:
        sweep = KilledSweep(bench)
        begin = time.monotonic()
        view = sweep.run()
        return {
            "faults": sweep.faults(view),
            "trials": view["counts"],
            "attempts": sweep.attempts,
            "pauses": sweep.pauses,
            "seconds": round(time.monotonic() - begin),
            "kills": [asdict(kill) for kill in sweep.kills],
        }


def main() -> int:
    origin = stamp("celery")
    result = record()
    write("sweep_kills", origin | result, depth=2)
    return int(bool(result["faults"]))


if __name__ == "__main__":
    sys.exit(main())
