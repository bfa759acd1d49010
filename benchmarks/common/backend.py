"""A real backend for benchmarks: PostgreSQL, `python -m backend api` and `background` in processes of their own.

    with Backend() as backend:
        job = backend.start_job()
        backend.post(job, [...])      # records through the worker API, with the job's token

The database is the embedded one as `reinforge up` runs it, durable; it goes with the block.
What a worker answers about a new job (is its reward's code valid, how long are its prompts) is played here, since no
model is loaded.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import httpx
import psycopg
from psycopg.types.json import Jsonb

from common.cpu import Account
from common.measure import ROOT
from reinforge.platform.cluster import recorded_cluster
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.schemas.worker_api import PROTOCOL, PROTOCOL_HEADER

KEY, WORKER_TOKEN = "rf-benchmark-key", "benchmark-worker-token"
MODEL = "bench-model"
REWARD = "def grade(sample, item):\n    return float(sample['output_text'] == item['answer'])\n"
_WITHIN = 240.0


@dataclass
class ClaimedJob:
    """A job that this process holds as its worker."""

    id: str
    attempt: int
    token: str
    sequence: int = field(default=0)


class Backend:
    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._done = threading.Event()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.pids: dict[str, int] = {}
        """Name → process whose CPU time counts, its children included."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self.home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rf-bench-")))
            stack.callback(_remove_database, self.home)
            server = stack.enter_context(EmbeddedPostgres(self.home))
            self.database_url, self.database_url_of = server.url(), server.url
            self.log = stack.enter_context((self.home / "backend.log").open("wb"))
            stack.callback(self._stop)
            self._start()
            self.api = stack.enter_context(self.client(KEY, "/api/v1"))
            self.worker_api = stack.enter_context(self.client(WORKER_TOKEN, "/worker/v1"))
            self._rpc_thread = threading.Thread(target=self._answer_calls, daemon=True)
            self._rpc_thread.start()
            self._await_rpc_worker()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print((self.home / "backend.log").read_text(errors="replace")[-4000:], file=sys.stderr)
        self._stack.close()

    def client(self, token: str, path: str = "") -> httpx.Client:
        headers = {"authorization": f"Bearer {token}", PROTOCOL_HEADER: str(PROTOCOL)}
        return httpx.Client(base_url=self.url + path, headers=headers, timeout=60)

    def account(self) -> Account:
        """CPU time of the backend's processes and of the database's from now on."""
        return Account(self.pids)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.database_url, autocommit=True)

    # ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────

    def add_dataset(self) -> str:
        rows = "".join(f'{{"prompt": "{n}+1=", "answer": "{n + 1}"}}\n' for n in range(64))
        reply = self.api.post("/datasets", files={"file": ("sums.jsonl", rows.encode())})
        return str(_checked(reply, 201).json()["id"])

    def start_job(self, dataset: str, *, prompts: int = 16, completions: int = 8) -> ClaimedJob:
        """Create a job, claim it with the worker token and say that it has started."""
        rollout = {
            "prompts_per_step": prompts,
            "completions_per_prompt": completions,
            "max_completion_tokens": 1024,
        }
        spec = {
            "model": MODEL,
            "data": {"dataset": dataset},
            "rewards": [{"type": "python", "name": "right", "source": REWARD}],
            "rollout": rollout,
            "limits": {"steps": 100_000},
        }
        id = str(_checked(self.api.post("/jobs", json=spec), 201).json()["id"])
        claimed = _checked(
            self.worker_api.post("/jobs/claim", json={"worker": "wrk_bench", "job": id}), 200
        ).json()
        job = ClaimedJob(id, claimed["attempt"], claimed["job_token"])
        self.post(job, [{"kind": "started", "step": 0, "steps": 100_000, "facts": {"jail": "L"}}])
        return job

    def post(self, job: ClaimedJob, records: list[dict[str, Any]]) -> None:
        numbered = []
        for record in records:
            job.sequence += 1
            numbered.append({"sequence": job.sequence, "ts": time.time(), **record})
        reply = self.worker_api.post(
            f"/jobs/{job.id}/records",
            json={"attempt": job.attempt, "records": numbered},
            headers={"authorization": f"Bearer {job.token}"},
        )
        assert _checked(reply, 200).json()["acknowledged"] == job.sequence

    # ── processes ──────────────────────────────────────────────────────────────────────────────────────────

    def _start(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        env = os.environ | {
            "REINFORGE_HOME": str(self.home),
            "DATABASE_URL": self.database_url,
            "REINFORGE_WORKER_TOKEN": WORKER_TOKEN,
            "REINFORGE_BOOTSTRAP_API_KEY": KEY,
            "PYTHONPATH": str(ROOT),
        }
        subprocess.run([sys.executable, "-m", "backend", "migrate"], env=env, stderr=self.log, check=True)
        self._spawn("api", ["-m", "backend", "api", "--port", str(port)], env, self.log)
        self._spawn("background", ["-m", "backend", "background"], env, self.log)
        with self.connect() as connection:
            self.pids["postgres"] = _postmaster(connection)
        deadline = time.monotonic() + _WITHIN
        while not self._answers():
            ended = any(process.poll() is not None for process in self._processes)
            if ended or time.monotonic() > deadline:
                sys.exit((self.home / "backend.log").read_text(errors="replace")[-4000:])
            time.sleep(0.1)
        with self.connect() as connection:
            connection.execute(
                "INSERT INTO base_model (key, id, source, status, architecture, parameters, context_length,"
                " has_chat_template, vocabulary, lora_targets, bytes, sha256, created_at) VALUES"
                " (%s, %s, '/models/bench', 'ready', 'Qwen3ForCausalLM', 1000, 4096, true, 64, %s, 4000, %s, now())",
                ("mdl_bench", MODEL, Jsonb(["q_proj"]), "ab" * 32),
            )

    def _spawn(self, name: str, arguments: list[str], env: dict[str, str], log: IO[bytes]) -> None:
        process = subprocess.Popen([sys.executable, *arguments], env=env, stdout=log, stderr=log)
        self._processes.append(process)
        self.pids[name] = process.pid

    def _answers(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz").status_code == 200
        return False

    def _stop(self) -> None:
        self._done.set()
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # ── the worker that checks new jobs ────────────────────────────────────────────────────────────────────

    def _await_rpc_worker(self) -> None:
        deadline = time.monotonic() + _WITHIN
        while not any(worker["online"] for worker in self.api.get("/workers").json()["data"]):
            assert time.monotonic() < deadline, "RPC did not start"
            time.sleep(0.1)

    def _answer_calls(self) -> None:
        me = {
            "id": "wrk_lane",
            "kind": "calls",
            "hostname": "here",
            "version": "0",
            "jail": "L",
            "device": "cpu",
        }
        request = {"worker": "wrk_lane", "kinds": ["validate", "render"], "wait_seconds": 2}
        with contextlib.suppress(httpx.TransportError), self.client(WORKER_TOKEN, "/worker/v1") as worker_api:
            while not self._done.is_set():
                worker_api.post("/workers", json=me)
                reply = worker_api.post("/calls/next", json=request)
                if reply.status_code == 200:
                    call = reply.json()
                    result = _ANSWERS[call["kind"]](call["payload"])
                    worker_api.post(f"/calls/{call['id']}/answer", json={"result": result})


def _remove_database(home: Path) -> None:
    """Its files lie outside the home when root started it."""
    if (cluster := recorded_cluster(home)) is not None:
        shutil.rmtree(cluster.folder, ignore_errors=True)


def _validated(payload: dict[str, Any]) -> dict[str, Any]:
    entries = [{"name": "grade", "spelling": "openai", "line": 1}]
    rewards = [{"name": reward["name"], "entries": entries, "error": None} for reward in payload["rewards"]]
    return {"rewards": rewards, "jail": "L"}


def _rendered(payload: dict[str, Any]) -> dict[str, Any]:
    prompts = [{"text": "".join(message["content"] for message in row)} for row in payload["rows"]]
    prompts = [prompt | {"tokens": len(prompt["text"])} for prompt in prompts]
    sizes = {"context_length": 4096, "hidden_size": 1024}
    return {"prompts": prompts, "longest": {"index": 0, "tokens": 8}} | sizes


_ANSWERS = {"validate": _validated, "render": _rendered}


def _postmaster(connection: psycopg.Connection[Any]) -> int:
    """The database's first process: the parent of the one that serves this connection."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    status = Path(f"/proc/{row[0]}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


def _checked(reply: httpx.Response, status: int) -> httpx.Response:
    assert reply.status_code == status, f"{reply.request.url.path}: {reply.status_code} {reply.text}"
    return reply
