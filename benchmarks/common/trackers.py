"""MLflow and Trackio as servers to compare with, in a virtual environment of their own, made when first needed."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.measure import ROOT

PACKAGES = ("mlflow==3.17.2", "trackio==0.43.0", "psycopg2-binary==2.9.13")
FOLDER = ROOT / "benchmarks" / ".venvs" / "trackers"
TRACKIO_TOKEN = "benchmark-write-token"
_START_SECONDS = 600.0


def environment() -> Path:
    """The folder of its programs. Created again when `PACKAGES` have changed; takes a minute or two then."""
    stamp, packages = FOLDER / "packages.txt", "\n".join(PACKAGES)
    if not stamp.exists() or stamp.read_text() != packages:
        print(f"making {FOLDER.relative_to(ROOT)} with {', '.join(PACKAGES)} …", flush=True)
        shutil.rmtree(FOLDER, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
        subprocess.run([FOLDER / "bin" / "pip", "install", "--quiet", *PACKAGES], check=True)
        stamp.write_text(packages)
    return FOLDER / "bin"


@contextlib.contextmanager
def mlflow(folder: Path, database_url: str) -> Iterator[tuple[str, int]]:
    """Address and process of an MLflow server with as many workers as it has by default."""
    store = database_url.replace("postgresql://", "postgresql+psycopg2://")
    command = ["mlflow", "server", "--host", "127.0.0.1", "--backend-store-uri", store]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "HOME": str(folder)}
    with _server(folder, "mlflow", command, "--port", quiet, "/health") as address:
        yield address


@contextlib.contextmanager
def trackio(folder: Path) -> Iterator[tuple[str, int]]:
    """Address and process of a Trackio server, which has one process and SQLite."""
    quiet = {
        "TRACKIO_DIR": str(folder / "trackio"),
        "TRACKIO_WRITE_TOKEN": TRACKIO_TOKEN,
        "HF_HUB_OFFLINE": "1",
        "HOME": str(folder),
        "BROWSER": "true",
    }
    with _server(folder, "trackio", ["trackio", "show"], None, quiet, "/version") as address:
        yield address


def new_mlflow_run(url: str) -> str:
    """Its id, in the default experiment."""
    body = {"experiment_id": "0", "start_time": int(time.time() * 1000)}
    return str(_post(f"{url}/api/2.0/mlflow/runs/create", body)["run"]["info"]["run_id"])


def _post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


@contextlib.contextmanager
def _server(
    folder: Path, name: str, command: list[str], port_option: str | None, env: dict[str, str], health: str
) -> Iterator[tuple[str, int]]:
    """A program of the environment on a free port, with its processes in a group that is ended together."""
    programs = environment()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    arguments = [str(programs / command[0]), *command[1:], *([port_option, port] if port_option else [])]
    paths = {"PATH": f"{programs}:{os.environ['PATH']}", "GRADIO_SERVER_PORT": port}
    url, log = f"http://127.0.0.1:{port}", folder / f"{name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            arguments, env=os.environ | env | paths, stdout=file, stderr=file, start_new_session=True
        )
    try:
        _await(url + health, process, log)
        yield url, process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as reply:
            if reply.status == 200:
                return
        time.sleep(0.2)
    sys.exit(f"{url} does not answer:\n{log.read_text(errors='replace')[-4000:]}")
