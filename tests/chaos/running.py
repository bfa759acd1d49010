"""A platform of `reinforge up` processes that the suite may hurt, and the jobs on it."""

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx
import psycopg

from reinforge.client import Reinforge
from reinforge.platform.cluster import recorded_cluster
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.platform.up import free_port
from reinforge.storage import ObjectStore, content_key, open_store
from reinforge.system.launch import end_with_parent
from tests.chaos.points import kill_targets

ROOT = Path(__file__).resolve().parents[2]
POINTS = Path(__file__).with_name("points")
KEY = "rf-chaos-owner-key-0123456789abcdef"
LEASE_SECONDS = 6
READY_WITHIN = 120.0
FINAL = ("succeeded", "failed", "cancelled")
STEPS = 6
REWARD = """
def grade(sample, item):
    text = sample["output_text"]
    right = float(str(item["answer"]) in text)
    return right + sum(map(ord, text)) % 97 / 97
"""


def job_file(dataset: str) -> dict[str, Any]:
    """A few steps of the starter model, with rewards that are a function of the completion."""
    return {
        "model": "starter-arith",
        "data": {"dataset": dataset, "held_out_rows": 4},
        "rewards": [{"type": "python", "name": "mixed", "source": REWARD, "timeout_seconds": 30}],
        "rollout": {"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 24},
        "optimizer": {"learning_rate": 1e-3},
        "adapter": {"rank": 4},
        "evaluation": {"every_steps": 3, "rows": 4, "samples_per_row": 1},
        "limits": {"steps": STEPS, "checkpoint_every": 2},
        "seed": 11,
    }


class Bench:
    """One platform with its own home; `environment` is added to that of its processes."""

    def __init__(self, environment: dict[str, str] | None = None, *, mounts: bool = True) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="chaos-"))
        self.home = self.folder / "home"
        self.plans = self.folder / "plans"
        # Processes of other users (started as root, sandboxd is one) read plans and tell what they have passed.
        self.folder.chmod(0o711)
        self.plans.mkdir()
        self.plans.chmod(0o777)
        self.temporary = self.folder / "tmp"
        """Of the platform's processes: what they leave behind is seen here."""
        self.temporary.mkdir()
        self.temporary.chmod(0o1777)
        self.port = free_port("127.0.0.1", 0)
        self._environment = environment or {}
        self._up: subprocess.Popen[bytes] | None = None
        self._mounted = self._mount() if mounts else []
        self._closed = False
        self.starts = 0
        self.dataset = ""
        self.database_url = ""

    def __enter__(self) -> Self:
        try:
            self.start()
            self.dataset = self._push_dataset()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        if self._up is not None and self._up.poll() is None:
            self._up.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._up.wait(60)
        kill_targets.strike(self.plans, [kill_targets.TREE], signal.SIGKILL)
        for folder in self._mounted:
            subprocess.run(["umount", "--lazy", folder], check=False)
        EmbeddedPostgres(self.home).destroy()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ── processes ─────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Start it, again after it was killed, and wait until jobs can run."""
        environment = os.environ | {
            "PYTHONPATH": f"{POINTS}:{ROOT}",
            "REINFORGE_CHAOS": str(self.plans),
            "REINFORGE_LEASE_SECONDS": str(LEASE_SECONDS),
            "REINFORGE_BOOTSTRAP_API_KEY": KEY,
            "OMP_NUM_THREADS": "1",
            "TMPDIR": str(self.temporary),
        }
        command = [
            *(sys.executable, "-m", "reinforge.cli.main", "up", "--no-demo"),
            *("--home", str(self.home), "--port", str(self.port)),
        ]
        with (self.folder / "up.log").open("ab") as log:
            self._up = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment | self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=partial(
                    end_with_parent, os.getpid(), signal.SIGTERM
                ),  # also if this suite is killed
            )
        self.starts += 1
        self.await_ready()

    def revive(self) -> bool:
        """Start it again if it was killed as a whole; whether it was."""
        assert self._up is not None
        if self._up.poll() is None or self._closed:
            return False
        kill_targets.strike(
            self.plans, [kill_targets.TREE], signal.SIGKILL
        )  # nobody outlives a loss of power
        self.start()
        return True

    def await_ready(self) -> None:
        """Wait until everything that a job needs runs. Raises RuntimeError with the end of the log."""
        deadline = time.monotonic() + READY_WITHIN
        while not self._is_ready():
            assert self._up is not None
            if self._up.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "up.log").read_text(errors="replace")[-3000:])
            time.sleep(0.1)
        self._note_database()

    def _is_ready(self) -> bool:
        try:
            parts = httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).json()["parts"]
        except (httpx.HTTPError, ValueError, KeyError):
            return False
        ready = all(parts.get(name, {}).get("ready") for name in ("database", "storage", "worker", "calls"))
        running = kill_targets.pids(self.plans)
        return ready and all(
            running.get(role) for role in ("worker", "calls", "api", "background", "sandbox")
        )

    def _note_database(self) -> None:
        """Where it is, from the environment of a process that was told."""
        running = kill_targets.pids(self.plans)
        for line in Path(f"/proc/{running['api'][0]}/environ").read_bytes().split(b"\0"):
            name, _, value = line.decode(errors="replace").partition("=")
            if name == "DATABASE_URL":
                self.database_url = value
        cluster = recorded_cluster(self.home)
        assert cluster is not None
        (self.plans / "postgres").write_text(str(cluster.data))

    def strike(self, victims: tuple[str, ...], number: signal.Signals) -> list[int]:
        return kill_targets.strike(self.plans, victims, number)

    def trainers(self) -> list[int]:
        return kill_targets.pids(self.plans).get("trainer", [])

    @contextlib.contextmanager
    def another_worker(self) -> Iterator[None]:
        """A second one beside the platform's own."""
        environment = _environment_of(kill_targets.pids(self.plans)["worker"][0])
        with (self.folder / "worker-2.log").open("ab") as log:
            command = [sys.executable, "-P", "-m", "worker"]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.folder)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # ── disks ─────────────────────────────────────────────────────────────────────────────────────────────

    def _mount(self) -> list[Path]:
        """Folders with a limit of their own, where this user may make such."""
        mounted = []
        for name, size in (("runs", "96m"), ("objects", "192m")):
            folder = self.home / name
            folder.mkdir(parents=True, mode=0o700)
            command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", str(folder)]
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                break
            mounted.append(folder)
        return mounted

    @property
    def has_mounts(self) -> bool:
        return bool(self._mounted)

    def fill(self, name: str) -> Path:
        """Take all the room that there is in a folder; returns the file that takes it."""
        ballast = self.home / name / ".ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * (1 << 16))
        with ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0")
        return ballast

    # ── jobs ──────────────────────────────────────────────────────────────────────────────────────────────

    def request(self, method: str, path: str, *, patience: float = 90.0, **options: Any) -> httpx.Response:
        """What a client does: again after no answer and after 5xx. Raises RuntimeError for other refusals."""
        deadline = time.monotonic() + patience
        headers = {"authorization": f"Bearer {KEY}", "idempotency-key": uuid.uuid4().hex}
        while True:
            why = ""
            try:
                url = f"http://127.0.0.1:{self.port}/api/v1{path}"
                answer = httpx.request(method, url, headers=headers, timeout=30, **options)
                if answer.status_code < 400:
                    return answer
                why = f"{method} {path}: {answer.status_code} {answer.text[:500]}"
                if answer.status_code < 500:
                    raise RuntimeError(why)
            except httpx.TransportError as error:
                why = f"{method} {path}: {error!r}"
            if time.monotonic() > deadline:
                raise RuntimeError(why)
            self.revive()
            time.sleep(0.2)

    def create(self) -> str:
        return str(self.request("POST", "/jobs", json=job_file(self.dataset)).json()["id"])

    def look(self, job: str) -> dict[str, Any] | None:
        """The job as the API shows it; None when it does not answer right now."""
        url = f"http://127.0.0.1:{self.port}/api/v1/jobs/{job}"
        try:
            answer = httpx.get(url, headers={"authorization": f"Bearer {KEY}"}, timeout=5)
            return dict(answer.json()) if answer.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            return None

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), values)
            return cursor.fetchall() if cursor.description else []

    @functools.cached_property
    def store(self) -> ObjectStore:
        url = self._environment.get("STORAGE_URL") or (self.home / "objects").as_uri()
        return open_store(url, s3_endpoint_url=self._environment.get("S3_ENDPOINT_URL"))

    def object_file(self, sha256: str) -> Path:
        return self.home / "objects" / content_key("blobs", sha256)

    def forget(self, job: str) -> None:
        """Remove a job and what it has stored, so that the next one, which makes the same bytes, stores them again."""
        for statement in (
            "UPDATE job SET adapter_id = NULL WHERE id = %s",
            "DELETE FROM adapter WHERE job_id = %s",
            "DELETE FROM job WHERE id = %s",
        ):
            self.sql(statement, job)
        used = "SELECT sha256 FROM dataset"
        gone = self.sql(f"DELETE FROM stored_object WHERE sha256 NOT IN ({used}) RETURNING sha256")
        for (sha256,) in gone:
            self.store.delete(content_key("blobs", sha256))
        for cached in (self.home / "cache" / "blobs").glob("*"):
            cached.unlink()
        shutil.rmtree(self.home / "runs" / job, ignore_errors=True)

    def _push_dataset(self) -> str:
        path = self.folder / "sums.jsonl"
        rows = [{"prompt": f"{n}+{n + 3}=", "answer": str(2 * n + 3)} for n in range(10, 40)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        with Reinforge(f"http://127.0.0.1:{self.port}", KEY) as client:
            return client.datasets.push(path).id


def wait_until(condition: Callable[[], object], within: float) -> bool:
    """Whether it held within so many seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _environment_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(line.decode().split("=", 1) for line in lines if b"=" in line)
