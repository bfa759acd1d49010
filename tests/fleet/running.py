"""A real backend, its background, and real workers as processes that may be hurt; jobs of several projects for them."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from backend.jobs.lifecycle.transitions import MAX_LOST_ATTEMPTS
from reinforge.system.process_table import identify
from tests.backend.server import WORKER_TOKEN, Backend
from tests.fleet.stub_trainer import first_hash, next_hash
from tests.support.tiny_models import write_tiny_model

LEASE_SECONDS = 3
STOPPED_SECONDS = 6.0
"""Longer than a lease and the sweep's pause: another worker has the job by then."""
STEPS = 4
STUB = (sys.executable, "-S", str(Path(__file__).with_name("stub_trainer.py")))
_WORKER = f"""
import os, sys
from worker import tasks
from worker.__main__ import main
tasks.POLL_SECONDS = float(os.environ.get("TEST_POLL_SECONDS", tasks.POLL_SECONDS))
tasks.trainer_command = {STUB!r}
sys.exit(main([]))
"""
GRADER = {
    "type": "string_check",
    "name": "empty",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "ne",
}


class Fleet:
    """Enter it for a platform without workers; `start_workers` brings them."""

    def __init__(
        self, database_url: str, folder: Path, redis_url: str | None = None, **environment: str
    ) -> None:
        """environment: more of it for workers."""
        self._environment = environment
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir()
        self.backend = Backend(database_url, self.home, lease_seconds=LEASE_SECONDS, redis_url=redis_url)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._redis_url = redis_url
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.backend.__enter__()
        try:
            model = write_tiny_model(self.folder / "model")
            self.backend.add_model()
            self.backend.sql("UPDATE base_model SET source = %s, sha256 = NULL", str(model))
            self._background = self._start("background", "-m", "backend", "background")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self.backend.__exit__()

    def start_workers(self, count: int, home: Path | None = None) -> None:
        """home: of workers that share nothing with the platform but its address and the token."""
        for _ in range(count):
            self.workers.append(self._start("worker", "-c", _WORKER, home=home))

    def replace(self, number: int) -> None:
        """Another process in the place of one that was killed."""
        self.workers[number].wait()
        self.workers[number] = self._start("worker", "-c", _WORKER)

    def trainers(self) -> list[int]:
        """Of all workers, those that run."""
        pids = []
        for path in (self.home / "workers").glob("*/trainer.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                pids.append(int(json.loads(path.read_text())["pid"]))
        return [pid for pid in pids if identify(pid) is not None]

    def create(self, project: str, number: int, pace: float | None, **metadata: str) -> str:
        """A queued job; one without a pace is really trained. metadata: what else the stub is to do."""
        changes: dict[str, Any] = {
            "name": f"{project}-{number}",
            "limits": {"steps": STEPS, "checkpoint_every": 2},
        }
        if pace is not None:
            changes["metadata"] = {"pace": str(pace), **metadata}
        else:
            changes["rewards"] = [{"type": "grader", "name": "empty", "grader": GRADER}]
            changes["adapter"] = {"rank": 2}
        return self.backend.create_job(**changes)

    def _start(self, name: str, *arguments: str, home: Path | None = None) -> subprocess.Popen[bytes]:
        environment = os.environ | {
            "REINFORGE_HOME": str(home or self.home),
            "REINFORGE_URL": self.backend.url,
            "REINFORGE_WORKER_TOKEN": WORKER_TOKEN,
            "REINFORGE_LEASE_SECONDS": str(LEASE_SECONDS),
            "DATABASE_URL": self.backend.database_url if name == "background" else "",
            "REDIS_URL": self._redis_url or "",
            "SANDBOX_SOCKET": str(self.folder / "no.sock"),
            "OMP_NUM_THREADS": "1",
            **self._environment,
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._processes.append(process)
        return process


class Mischief(threading.Thread):
    """Kills workers and trainers at random, and stops workers until another one has their job, then wakes them."""

    def __init__(self, fleet: Fleet, times: int, every: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._fleet, self._times, self._every = fleet, times, every
        self._random = random.Random(seed)
        self._over = threading.Event()
        self.done: list[str] = []

    def stop(self) -> None:
        self._over.set()
        self.join(60)

    def run(self) -> None:
        deeds: list[tuple[str, Callable[[], bool]]] = [
            ("kill a trainer", self._kill_trainer),
            ("kill a worker", self._kill_worker),
            ("stop a worker", self._stop_worker),
        ]
        while len(self.done) < self._times and not self._over.wait(
            self._every * self._random.uniform(0.5, 1.5)
        ):
            if self._endangered():
                continue
            name, deed = self._random.choices(deeds, weights=[4, 3, 1])[0]
            if deed():
                self.done.append(name)

    def _endangered(self) -> bool:
        """Whether a job would soon be given up: the fifth loss without a resume state in between fails it."""
        query = "SELECT 1 FROM job WHERE lost_attempts >= %s AND finished_at IS NULL LIMIT 1"
        return bool(self._fleet.backend.sql(query, MAX_LOST_ATTEMPTS - 2))

    def _kill_trainer(self) -> bool:
        trainers = self._fleet.trainers()
        if not trainers:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._random.choice(trainers), signal.SIGKILL)
        return True

    def _kill_worker(self) -> bool:
        number = self._random.randrange(len(self._fleet.workers))
        self._fleet.workers[number].kill()
        self._fleet.replace(number)
        return True

    def _stop_worker(self) -> bool:
        worker = self._random.choice(self._fleet.workers)
        worker.send_signal(signal.SIGSTOP)
        self._over.wait(STOPPED_SECONDS)
        worker.send_signal(signal.SIGCONT)
        return True


def hashes(name: str, steps: int = STEPS) -> list[str]:
    """What the stub makes of a job of this name, after each step."""
    hashes, state = [], first_hash(name)
    for step in range(1, steps + 1):
        state = next_hash(state, step)
        hashes.append(state)
    return hashes


def wait_for_all(backend: Backend, jobs: list[str], within: float) -> None:
    """Until every job has ended."""
    deadline = time.monotonic() + within
    query = "SELECT status, count(*) FROM job WHERE id = ANY(%s) GROUP BY 1"
    while set(statuses := dict(backend.sql(query, jobs))) - {"succeeded", "failed", "cancelled"}:
        assert time.monotonic() < deadline, f"after {within:.0f} s: {statuses}"
        time.sleep(0.2)
