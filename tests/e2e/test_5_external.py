"""The main job on Redis, S3 over HTTP and an external PostgreSQL, by the very commands of docker-compose.yml."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
import yaml

from reinforge.platform.postgres import EmbeddedPostgres
from tests.e2e.conftest import DEMO_JOB, ROOT
from tests.support import compose
from tests.support.processes import eventually

KEY = "rf-external-owner-key-0123456789"
REDIS = shutil.which("redis-server")
REDIS_PASSWORD = "broker-password-of-this-test"
if REDIS is None and os.environ.get("REINFORGE_REQUIRE_EXTERNAL"):
    raise RuntimeError("REINFORGE_REQUIRE_EXTERNAL is set and there is no redis-server on PATH")
pytestmark = pytest.mark.skipif(
    REDIS is None, reason="no redis-server on PATH: install it to run the second stack"
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@dataclass
class Stack:
    """Compose services run as plain processes: same commands, same variables, addresses of this machine."""

    folder: Path
    runtime: Path
    api: str
    variables: dict[str, str]
    """What `.env` would hold."""
    addresses: dict[str, str]
    """What the containers' addresses, paths and ports are here."""
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.services: dict[str, dict[str, Any]] = compose.services(self.variables)
        self._there = re.compile("|".join(re.escape(address) for address in self.addresses))

    def local(self, value: str) -> str:
        return self._there.sub(lambda match: self.addresses[match[0]], value)

    def environment(self, name: str) -> dict[str, str]:
        variables = compose.environment(self.services[name], self.variables)
        own = {key: self.local(value) for key, value in variables.items()}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        home = self.folder / name
        home.mkdir(exist_ok=True)
        keep = {key: os.environ[key] for key in ("HOME", "LANG", "REINFORGE_PREFIX") if key in os.environ}
        return keep | own | {"PATH": path, "REINFORGE_HOME": str(home)}

    def start(self, name: str) -> subprocess.Popen[bytes]:
        command = [self.local(part) for part in self.services[name]["command"]]
        log = (self.folder / f"{name}.log").open("wb")
        process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment(name), stdout=log, stderr=log, start_new_session=True
        )
        self.running[name] = process
        return process

    def run(self, command: list[str], name: str = "api") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.local(part) for part in command], cwd=ROOT, env=self.environment(name),
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    def stop(self) -> None:
        for process in reversed(self.running.values()):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def logs(self) -> str:
        return "\n".join(f"--- {p.name}\n{p.read_text()[-3000:]}" for p in sorted(self.folder.glob("*.log")))


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("external")
    # Each is stopped from the moment it runs: what fails behind it must leave nothing.
    with contextlib.ExitStack() as leave:
        yield build(folder, leave)


def build(folder: Path, leave: contextlib.ExitStack) -> Stack:
    """Redis, an S3 server and PostgreSQL, running, and the stack that uses them; `leave` stops all."""
    assert REDIS is not None
    runtime = Path(tempfile.mkdtemp(prefix="rf-"))
    leave.callback(shutil.rmtree, runtime, ignore_errors=True)
    redis_port, s3_port, api_port = free_port(), free_port(), free_port()
    for command in (
        [REDIS, "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
         "--requirepass", REDIS_PASSWORD],
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(s3_port)],
    ):  # fmt: skip
        leave.callback(
            end, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        )
    postgres = EmbeddedPostgres(folder / "postgres")
    (folder / "postgres").mkdir(mode=0o700)
    leave.callback(postgres.stop)
    postgres.start()
    database_url = postgres.url()
    one = Stack(
        folder, runtime, f"http://127.0.0.1:{api_port}",
        {
            "POSTGRES_PASSWORD": "secret-enough", "REDIS_PASSWORD": REDIS_PASSWORD, "REINFORGE_API_KEY": KEY,
            "REINFORGE_WORKER_TOKEN": "worker-token-of-this-test", "REINFORGE_SECRET_KEY": "secret-key-of-this-test",
            "STORAGE_URL": "s3://reinforge/objects", "S3_ENDPOINT_URL": f"http://127.0.0.1:{s3_port}",
            "AWS_ACCESS_KEY_ID": "reinforge", "AWS_SECRET_ACCESS_KEY": "secret-enough",
        },
        {
            "postgresql://reinforge:secret-enough@postgres:5432/reinforge": database_url,
            "redis:6379": f"127.0.0.1:{redis_port}", "http://api:8321": f"http://127.0.0.1:{api_port}",
            "0.0.0.0": "127.0.0.1", "8321": str(api_port), "/run/reinforge": str(runtime),
            "/home/reinforge": str(folder),
        },
    )  # fmt: skip
    leave.callback(one.stop)
    make_bucket(f"http://127.0.0.1:{s3_port}")
    return one


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def make_bucket(endpoint: str) -> None:
    """The bucket that STORAGE_URL names."""
    s3 = boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1"
    )

    def made() -> bool:
        try:
            s3.create_bucket(Bucket="reinforge")
        except Exception:
            return False
        return True

    eventually(made, within=30, what="a bucket on the S3 server")


def test_the_main_job_by_the_commands_of_the_compose_file(stack: Stack, tmp_path: Path) -> None:
    migrated = stack.run(stack.services["migrate"]["command"])
    assert migrated.returncode == 0, migrated.stderr
    for name in ("sandbox", "api", "background", "worker", "calls"):
        stack.start(name)

    def ready() -> bool:
        assert all(p.poll() is None for p in stack.running.values()), stack.logs()
        try:
            parts = httpx.get(f"{stack.api}/readyz", timeout=5).json()["parts"]
        except (httpx.TransportError, ValueError, KeyError):
            return False
        return bool(parts["worker"]["ready"] and parts["calls"]["ready"])

    eventually(ready, within=90, what="readiness")
    for name in ("sandbox", "api", "background", "worker", "calls"):
        health = stack.run(stack.services[name]["healthcheck"]["test"][1:], name)
        assert health.returncode == 0, f"{name}: {health.stderr}"

    job_file = yaml.safe_load(DEMO_JOB.read_text())
    job_file["limits"] = {"steps": 6, "checkpoint_every": 3}
    job_file["evaluation"] = {"every_steps": 0, "rows": 8, "samples_per_row": 1}
    for name in ("additions.jsonl", "heldout.jsonl", "reward.py"):
        shutil.copy(DEMO_JOB.parent / name, tmp_path / name)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job_file))
    environment = stack.environment("api") | {"REINFORGE_URL": stack.api, "REINFORGE_API_KEY": KEY}
    cli = [sys.executable, "-m", "reinforge.cli.main"]
    create = [*cli, "job", "create", "-f", "job.yaml", "--wait", "--json"]
    done = subprocess.run(create, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + stack.logs()
    job = json.loads(done.stdout)
    assert job["status"] == "succeeded" and job["progress"]["step"] == 6
    download = [*cli, "adapter", "download", job["id"], "--to", "adapter"]
    fetched = subprocess.run(
        download, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180
    )
    assert fetched.returncode == 0, fetched.stderr
    assert (Path(fetched.stdout.strip()) / "adapter_model.safetensors").stat().st_size > 10_000


def test_every_service_of_ours_is_run_here(stack: Stack) -> None:
    """A new service in the compose file must join the test above."""
    strangers = {"postgres", "redis"}
    assert set(stack.services) - strangers == {"migrate", "sandbox", "api", "background", "worker", "calls"}


def test_what_runs_is_stopped_when_the_stack_cannot_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[-1]

    def fail(_: EmbeddedPostgres) -> None:
        raise OSError("no PostgreSQL here")

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(EmbeddedPostgres, "start", fail)
    with pytest.raises(OSError, match="no PostgreSQL here"), contextlib.ExitStack() as leave:
        build(tmp_path, leave)
    assert len(started) >= 2
    assert all(process.poll() is not None for process in started)
