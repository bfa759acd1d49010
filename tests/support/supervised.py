"""A supervisor with a toy trainer and a stub of the worker API, and helpers that wait for conditions."""

import contextlib
import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reinforge.schemas.worker_api import Claimed
from tests.support.worker_api_stub import TOKEN, StubWorkerApi
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import WorkerApi
from worker.models.sources import ModelStore
from worker.supervisor.slots import take_slot
from worker.supervisor.supervisor import JobOutcome, JobSupervisor

TOY = (sys.executable, str(Path(__file__).with_name("toy_trainer.py")))
DATASET = b'{"prompt": "1+1=", "answer": "2"}\n'
REWARD = "def grade(sample, item):\n    return 1.0\n"


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return value


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # gone before, or while it was read
        return False
    return state != "Z"


class Bench:
    """A supervisor on a folder that runs one job, in the test's thread or in a thread of its own."""

    def __init__(self, home: Path, server: StubWorkerApi, model: Path) -> None:
        self.home, self.server, self.model = home, server, model
        self.slot = take_slot(home / "workers", "trainer", "host.example")
        self.stop = threading.Event()
        self.outcome: JobOutcome | None = None
        api = WorkerApi(server.url, TOKEN)
        (home / "runs").mkdir()
        self.supervisor = JobSupervisor(
            api=api,
            slot=self.slot,
            runs=home / "runs",
            blobs=BlobCache(home / "cache", api.get_blob),
            models=ModelStore(home / "models"),
            sandbox=home / "sandbox.sock",
            stop=self.stop,
            command=TOY,
            heartbeat_seconds=0.1,
        )

    def claimed(self, script: str, **changes: Any) -> Claimed:
        body = {
            "job": "ftjob-1",
            "attempt": 1,
            "job_token": "job-token",
            "spec": {"metadata": {"script": script}},
            "model_source": str(self.model),
            "model_sha256": None,
            "dataset": {"sha256": hashlib.sha256(DATASET).hexdigest(), "bytes": len(DATASET)},
            "dataset_format": "jsonl",
            "rewards": [{"name": "accuracy", "source": REWARD, "revision": "rew_1@3"}],
        }
        return Claimed.model_validate(body | changes)

    def run(self, script: str, **changes: Any) -> JobOutcome:
        return self.supervisor.run(self.claimed(script, **changes))

    def run_in_thread(self, script: str, **changes: Any) -> threading.Thread:
        def work() -> None:
            self.outcome = self.run(script, **changes)

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    @property
    def folder(self) -> Path:
        return self.home / "runs" / "ftjob-1" / "1"

    def trainer_pid(self) -> int:
        path = self.folder / "pid"
        return int(wait_for(lambda: path.exists() and path.read_text()))

    def kinds(self) -> list[str]:
        return [record["kind"] for record in self.server.state.records]

    def end(self) -> dict[str, Any]:
        return self.server.state.records[-1]

    def clean_up(self) -> None:
        """End whatever a failed test has left running."""
        self.stop.set()
        for path in (self.home / "runs").rglob("*pid"):
            with contextlib.suppress(ProcessLookupError, ValueError):
                if is_running(pid := int(path.read_text())):
                    os.kill(pid, signal.SIGKILL)
