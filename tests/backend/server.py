"""A real backend on a loopback port for tests, and the small helpers that play worker and person."""

import asyncio
import contextlib
import hashlib
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import uvicorn
from psycopg.types.json import Jsonb

from backend.data.database import Database
from backend.data.objects import Objects, configured_store
from backend.http.server import ServerConfig
from backend.jobs.lifecycle.leases import expire_leases
from backend.main import create_app
from backend.rpc.wake_ups import WakeUps
from backend.settings import Settings
from reinforge.schemas.worker_api import PROTOCOL, PROTOCOL_HEADER

OWNER_KEY = "rf-test-owner-key"
WORKER_TOKEN = "worker-secret-for-tests"
REWARD = "def grade(sample, item):\n    return 1.0\n"
DEADLINE = 60.0
_homes: dict[str, Path] = {}
"""Of each database: its rows tell which objects lie in the home, so another home would lack what they tell of."""


class Backend:
    """The application under uvicorn in a thread; `database_url` is migrated."""

    def __init__(self, database_url: str, home: Path, *, first_demo: bool = False, **settings: Any) -> None:
        assert _homes.setdefault(database_url, home) == home, "a database with two homes: give each its own"
        self.database_url, self.home = database_url, home
        self.settings = Settings(
            home=home,
            database_url=database_url,
            worker_token=WORKER_TOKEN,
            # Judges and receivers of tests stand on this machine.
            **{"bootstrap_api_key": OWNER_KEY, "allow_hosts": "127.0.0.1"} | settings,
        )
        self.app = create_app(self.settings, page=home / "page", first_demo=first_demo)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        proxies = self.settings.trusted_proxies
        config = ServerConfig(self.app, timeout_graceful_shutdown=1, forwarded_allow_ips=proxies)
        self.server_config = config
        self._server = uvicorn.Server(config)
        self.sockets = [self._listening]
        self._thread = threading.Thread(target=self._server.run, args=(self.sockets,), daemon=True)

    def __enter__(self) -> "Backend":
        self._thread.start()
        wait_until(lambda: self._server.started or not self._thread.is_alive(), "the backend to start")
        assert self._server.started, "the backend did not start"
        self.api = self.client(OWNER_KEY, "/api/v1")
        self.worker_api = self.client(WORKER_TOKEN, "/worker/v1")
        self.bare = httpx.Client(base_url=self.url, timeout=60)
        return self

    def __exit__(self, *_: object) -> None:
        for client in (self.api, self.worker_api, self.bare):
            client.close()
        self._server.should_exit = True
        self._thread.join(15)
        assert not self._thread.is_alive(), "the backend did not stop"

    def client(self, token: str | None, path: str = "") -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        if path.startswith("/worker"):
            headers[PROTOCOL_HEADER] = str(PROTOCOL)
        return httpx.Client(base_url=self.url + path, headers=headers, timeout=60)

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement on the backend's database; rows, if it returns any."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def sweep(self) -> None:
        """What the background's leader does about leases, once."""

        async def once() -> None:
            database = Database(self.database_url, pool_size=2)
            wake_ups = WakeUps(self.settings)
            try:
                await expire_leases(database, wake_ups)
            finally:
                wake_ups.close()
                await database.close()

        asyncio.run(once())

    def sweep_objects(self) -> None:
        """What the background's leader does about objects that nothing refers to, once."""

        async def once() -> None:
            database = Database(self.database_url, pool_size=2)
            try:
                await Objects(database, configured_store(self.settings)).sweep_orphans()
            finally:
                await database.close()

        asyncio.run(once())

    # ── what other rooms make, put there directly ──────────────────────────────────────────────────────────

    def add_model(
        self, id: str = "tiny", context: int = 128, hidden_size: int | None = 128, project: str | None = None
    ) -> str:
        """One that all projects share, or of a project."""
        shape = None if hidden_size is None else Jsonb({"hidden": hidden_size})
        self.sql(
            "INSERT INTO base_model (key, id, project_id, source, status, architecture, parameters, context_length,"
            " has_chat_template, vocabulary, lora_targets, bytes, sha256, shape, created_at)"
            " VALUES (gen_random_uuid()::text, %s, %s, %s, 'ready', 'Qwen3ForCausalLM', 1000, %s, true, 64, %s, 4000,"
            " %s, %s, now()) ON CONFLICT DO NOTHING",
            *(id, project, f"/models/{id}", context, Jsonb(["q_proj", "v_proj"]), "ab" * 32, shape),
        )
        return id

    def add_object(self, content: bytes, kind: str = "dataset") -> str:
        """Put it into the store, as the attempts of jobs do; returns the hash."""
        sha256 = hashlib.sha256(content).hexdigest()
        with tempfile.NamedTemporaryFile(dir=self.home) as file:
            file.write(content)
            file.flush()
            keep = self.app.state.objects.keep_file(
                Path(file.name), sha256=sha256, bytes=len(content), kind=kind
            )
            loop = self._server.servers[0].get_loop()
            asyncio.run_coroutine_threadsafe(keep, loop).result(DEADLINE)
        return sha256

    @contextlib.contextmanager
    def call_with(self, sha256: str, state: str = "taken", seconds: float = 60) -> Iterator[None]:
        """A call that names the object as what to sample with."""
        id = f"call_{time.monotonic_ns()}"
        self.sql(
            "INSERT INTO call (id, kind, payload, state, deadline, created_at)"
            " VALUES (%s, 'sample', %s, %s, now() + make_interval(secs => %s), now())",
            id,
            Jsonb({"adapter": {"sha256": sha256}}),
            state,
            seconds,
        )
        try:
            yield
        finally:
            self.sql("DELETE FROM call WHERE id = %s", id)

    def get_blob(self, sha256: str) -> httpx.Response:
        """A blob as the RPC worker reads it."""
        with self.call_with(sha256):
            return self.worker_api.get(f"/blobs/{sha256}")

    def add_dataset(self, rows: list[dict[str, Any]] | None = None) -> str:
        rows = rows if rows is not None else [{"prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(20)]
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        sha256 = self.add_object(content)
        columns = [{"name": name, "type": "string"} for name in (rows[0] if rows else {})]
        id = f"file-{sha256[:12]}{time.monotonic_ns()}"
        self.sql(
            "INSERT INTO dataset (id, project_id, name, filename, format, bytes, rows, sha256, columns, warnings,"
            " preview, created_at) SELECT %s, id, 'sums', 'sums.jsonl', 'jsonl', %s, %s, %s, %s, '[]', '[]', now()"
            " FROM project WHERE name = 'default'",
            id,
            len(content),
            len(rows),
            sha256,
            Jsonb(columns),
        )
        return id

    def spec(self, **changes: Any) -> dict[str, Any]:
        base = {
            "model": self.add_model(),
            "data": {"dataset": self.add_dataset()},
            "rewards": [{"type": "python", "name": "right", "source": REWARD}],
            "rollout": {"prompts_per_step": 4, "completions_per_prompt": 2, "max_completion_tokens": 16},
            "limits": {"steps": 3},
        }
        return base | changes

    def create_job(self, **changes: Any) -> str:
        """A queued job; needs an RPC worker."""
        response = self.api.post("/jobs", json=self.spec(**changes))
        assert response.status_code == 201, response.text
        id: str = response.json()["id"]
        return id

    def job(self, id: str) -> dict[str, Any]:
        response = self.api.get(f"/jobs/{id}")
        assert response.status_code == 200, response.text
        view: dict[str, Any] = response.json()
        return view

    def add_key(self, role: str, project: str = "default") -> httpx.Client:
        """A client with a fresh key of this role."""
        secret = f"rf-{role}-{time.monotonic_ns()}"
        self.sql(
            "INSERT INTO api_key (id, project_id, name, role, sha256, prefix, created_at)"
            " SELECT %s, id, %s, %s, %s, 'rf-', now() FROM project WHERE name = %s",
            f"key_{time.monotonic_ns()}",
            role,
            role,
            hashlib.sha256(secret.encode()).hexdigest(),
            project,
        )
        return self.client(secret, "/api/v1")

    def count_jobs(self) -> int:
        [(count,)] = self.sql("SELECT count(*) FROM job")
        return int(count)

    # ── what workers do ────────────────────────────────────────────────────────────────────────────────────

    def register(
        self, id: str = "wrk_test", kind: str = "trainer", answers: list[str] | None = None, **more: Any
    ) -> str:
        body: dict[str, Any] = {"id": id, "kind": kind, "hostname": "here", "version": "0", "jail": "L"}
        body |= {"device": "cpu", "answers": answers} | more
        assert self.worker_api.post("/workers", json=body).status_code == 204
        return id

    def claim(self, job: str | None = None, worker: str = "wrk_test") -> "Trainer":
        response = self.worker_api.post("/jobs/claim", json={"worker": worker, "job": job})
        assert response.status_code == 200, f"{response.status_code} {response.text}"
        return Trainer(self, response.json())

    @contextlib.contextmanager
    def rpc_worker(self, **answers: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator["RpcWorker"]:
        """A worker that answers calls for as long as the block lasts; `answers` replace the agreeable ones."""
        worker = RpcWorker(self, AGREEABLE | answers)
        worker.start()
        try:
            yield worker
        finally:
            worker.stop()


def wait_until(condition: Callable[[], Any], what: str, within: float = DEADLINE) -> Any:
    """The condition's first true value. Fails when it does not come in time."""
    deadline = time.monotonic() + within
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {within:g} s for {what}"
        time.sleep(0.01)
    return value


def refused(response: httpx.Response, param: str, code: str) -> dict[str, Any]:
    """The error of a 422, after checking the field at fault; a hint is part of it."""
    error: dict[str, Any] = response.json().get("error", response.json())
    assert (response.status_code, error.get("param"), error.get("code")) == (422, param, code), response.text
    assert error["hint"] or code == "empty_dataset"
    return error


@dataclass
class Trainer:
    """One attempt at a job, as its worker sees it."""

    backend: Backend
    claimed: dict[str, Any]
    sequence: int = 0
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = self.backend.client(self.claimed["job_token"], f"/worker/v1/jobs/{self.claimed['job']}")

    @property
    def attempt(self) -> int:
        number: int = self.claimed["attempt"]
        return number

    def number(self, *records: dict[str, Any]) -> list[dict[str, Any]]:
        """The records with their sequence and time."""
        numbered = []
        for record in records:
            self.sequence += 1
            numbered.append({"sequence": self.sequence, "ts": 1000.0 + self.sequence, **record})
        return numbered

    def post(self, records: list[dict[str, Any]], attempt: int | None = None) -> httpx.Response:
        body = {"attempt": attempt or self.attempt, "records": records}
        return self.client.post("/records", json=body)

    def send(self, *records: dict[str, Any]) -> None:
        response = self.post(self.number(*records))
        assert response.status_code == 200, response.text
        assert response.json()["acknowledged"] == self.sequence

    def heartbeat(self, *applied: str) -> httpx.Response:
        return self.client.post(
            "/heartbeat", json={"attempt": self.attempt, "applied_commands": list(applied)}
        )

    def blob(self, content: bytes, kind: str = "checkpoint") -> dict[str, Any]:
        """Upload it, as the attempt does."""
        sha256 = hashlib.sha256(content).hexdigest()
        with self.backend.client(self.claimed["job_token"], "/worker/v1") as worker_api:
            response = worker_api.put(f"/blobs/{sha256}", params={"kind": kind}, content=content)
        assert response.status_code in (200, 201), response.text
        return {"sha256": sha256, "bytes": len(content)}

    def start(self, step: int = 0, steps: int = 3) -> None:
        self.send({"kind": "started", "step": step, "steps": steps, "facts": {"jail": "L"}})

    def step(self, number: int, **values: float | None) -> None:
        metrics = {"reward/mean": number / 10, "time/step": 2.0, **values}
        self.send({"kind": "step_metrics", "step": number, "values": metrics})

    def evaluate(self, step: int, reward: float | None) -> None:
        values = {"held_out/reward_mean": reward}
        self.send({"kind": "evaluated", "step": step, "values": values, "rows": 2, "samples_per_row": 4})

    def checkpoint(self, step: int, reward: float | None = None, final: bool = False) -> None:
        blob = self.blob(f"adapter of {self.claimed['job']} after {step}".encode())
        record = {"kind": "checkpoint_saved", "step": step, "blob": blob, "held_out_reward": reward}
        self.send(record | {"final": final})

    def resume_state(self, step: int) -> None:
        blob = self.blob(f"state of {self.claimed['job']} after {step}".encode(), "resume")
        self.send({"kind": "resume_state_saved", "step": step, "blob": blob})

    def end(self, outcome: str, **fields: Any) -> None:
        self.send({"kind": "ended", "outcome": outcome, **fields})


class RpcWorker(threading.Thread):
    """An RPC worker; `calls` lists the kind and payload of every call."""

    def __init__(
        self, backend: Backend, answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]]
    ) -> None:
        super().__init__(daemon=True)
        self.backend, self.answers = backend, answers
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._done = threading.Event()
        self.worker = f"wrk_calls_{time.monotonic_ns()}"

    def start(self) -> None:
        self.backend.register(self.worker, "calls")
        super().start()

    def stop(self) -> None:
        self._done.set()
        self.join(10)
        self.backend.sql("DELETE FROM worker WHERE id = %s", self.worker)

    def run(self) -> None:
        body = {"worker": self.worker, "kinds": list(self.answers), "wait_seconds": 0.3}
        with self.backend.client(WORKER_TOKEN, "/worker/v1") as worker_api:
            while not self._done.is_set():
                response = worker_api.post("/calls/next", json=body)
                if response.status_code != 200:
                    continue
                call = response.json()
                self.calls.append((call["kind"], call["payload"]))
                answer = self.answers[call["kind"]](call["payload"])
                answer = answer if "error" in answer else {"result": answer}
                worker_api.post(f"/calls/{call['id']}/answer", json=answer)


def agree_validate(payload: dict[str, Any]) -> dict[str, Any]:
    entries = [{"name": "grade", "spelling": "openai", "line": 1}]
    rewards = [{"name": reward["name"], "entries": entries, "error": None} for reward in payload["rewards"]]
    return {"rewards": rewards, "jail": "L"}


def agree_render(payload: dict[str, Any]) -> dict[str, Any]:
    prompts = [{"text": "".join(m["content"] for m in row)} for row in payload["rows"]]
    prompts = [prompt | {"tokens": len(str(prompt["text"]))} for prompt in prompts]
    longest = max(range(len(prompts)), key=lambda index: prompts[index]["tokens"])
    tokens, sizes = prompts[longest]["tokens"], {"context_length": 128, "hidden_size": 128}
    return {"prompts": prompts, "longest": {"index": longest, "tokens": tokens}} | sizes


def agree_inspect(payload: dict[str, Any]) -> dict[str, Any]:
    facts = {"architecture": "Qwen3ForCausalLM", "parameters": 1000, "context_length": 128, "vocabulary": 64}
    return facts | {"has_chat_template": True, "lora_targets": ["q_proj"], "bytes": 4000, "sha256": "cd" * 32}


AGREEABLE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "validate": agree_validate,
    "render": agree_render,
    "inspect_model": agree_inspect,
}
