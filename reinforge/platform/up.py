"""The platform's processes on one machine, started in this order and stopped in reverse:

PostgreSQL (unless DATABASE_URL is set), sandboxd (unless SANDBOX_URL or SANDBOX_SOCKET is set)
→ migrations → backend api → backend background, worker (one per job that fits on the GPUs), worker calls
"""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from reinforge import settings
from reinforge.errors import InvalidInput, StateConflict, Unavailable
from reinforge.platform.environment import PlatformEnvironment
from reinforge.platform.places import (
    ADDRESS_FILE,
    FolderLock,
    make_private,
    socket_folder,
    write_private,
)
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.platform.supervisor import ProcessSupervisor, Service, SupervisedChild, SupervisorEvent, rotate
from reinforge.system.signals import Relay

_READY_WITHIN = 60.0
_WORKERS_WITHIN = 30.0
_SOCKET = "sandboxd.sock"
_DEVICES = Path("/dev")
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class Platform:
    def __init__(
        self,
        home: Path | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 8321,
        bootstrap_api_key: str | None = None,
        first_demo: bool = False,
        say: Callable[[str], object] = lambda sentence: None,
    ) -> None:
        self.home = (home or settings.home()).resolve()
        self.host = host
        self.port = port
        self._bootstrap_api_key = bootstrap_api_key
        self._first_demo = first_demo
        self._say = say
        self._lock = FolderLock(self.home / "lock", "the home")
        self._postgres = EmbeddedPostgres(self.home)
        self._supervisor = ProcessSupervisor(self._report)

    @property
    def url(self) -> str:
        host = EVERYWHERE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def sign_in_url(self) -> str | None:
        with contextlib.suppress(FileNotFoundError):
            return self._sign_in_file.read_text().strip() or None
        return None

    @property
    def starts_demo(self) -> bool:
        return self._demo_file.exists()

    @property
    def _demo_file(self) -> Path:
        return self.home / "first-demo"

    @property
    def _sign_in_file(self) -> Path:
        return self.home / "sign-in-url"

    def start(self) -> None:
        try:
            make_private(self.home)
            self._lock.acquire()
        except OSError as error:
            raise Unavailable(
                f"the home {self.home} cannot be used: {error.strerror}",
                code="home_unusable",
                hint="Set REINFORGE_HOME, or give --home, to a folder that you own.",
            ) from error
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def wait(self) -> None:
        threading.Event().wait()

    def stop(self) -> None:
        with _on_signals(self._supervisor.hurry):
            self._supervisor.stop()
            self._postgres.stop()  # has files and a lock even if its turn never came
            if self._lock.held:
                (self.home / ADDRESS_FILE).unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> None:
        self.port = free_port(self.host, self.port)
        write_private(self.home / ADDRESS_FILE, f"{self.host} {self.port}\n")
        self._sign_in_file.unlink(missing_ok=True)
        self._demo_file.unlink(missing_ok=True)
        for log in (self.home / "logs").glob("*.log"):
            rotate(log)
        sandbox_socket = socket_folder(self.home, _SOCKET) / _SOCKET
        external_database = settings.database_url()
        database_url = external_database or self._postgres.prepare()
        env = PlatformEnvironment(
            self.home,
            self.url,
            database_url,
            sandbox_socket,
            self._bootstrap_api_key,
        )

        foundation: list[SupervisedChild] = [] if external_database else [self._postgres]
        if settings.sandbox_variable() is None:
            foundation.append(self._sandbox(sandbox_socket, env))
        self._supervisor.start(*foundation, optional={"sandbox"})
        self._service("migrate", "backend", "migrate", env=env.backend()).run_to_end(timeout=600)
        self._supervisor.start(self._api(env))
        self._supervisor.start(
            self._service("background", "backend", "background", env=env.backend()),
            *[self._service(name, "worker", env=env.worker(), grace=20) for name in self._workers(env)],
            self._service("calls", "worker", "calls", env=env.worker()),
        )
        self._await_ready()

    def _workers(self, env: PlatformEnvironment) -> list[str]:
        """Names of the training workers, one per job that fits on the GPUs."""
        if not any(_DEVICES.glob("nvidia[0-9]*")):
            return ["worker"]
        command = [sys.executable, "-P", "-m", "worker.machine.gpu_assignment"]
        done = subprocess.run(command, env=env.worker(), capture_output=True, text=True, check=False)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return ["worker"]  # a worker that cannot start says why in its own log
        if "jobs" not in report:
            raise InvalidInput(
                report["message"], code=report["code"], param=report["param"], hint=report["hint"]
            )
        if report["jobs"] > 1:
            self._say(f"{report['jobs']} workers start: the GPUs have room for that many jobs at a time.")
        return ["worker", *(f"worker-{number}" for number in range(2, report["jobs"] + 1))]

    def _service(self, name: str, *module: str, env: dict[str, str], **options: Any) -> Service:
        # -P: a folder `backend` or `worker` in the working directory is not ours.
        return Service(name, [sys.executable, "-P", "-m", *module], self.home, env, **options)

    def _sandbox(self, path: Path, env: PlatformEnvironment) -> Service:
        command = ("worker.sandbox", "--socket", str(path))
        return self._service("sandbox", *command, env=env.sandbox(), ready=lambda: accepts(path))

    def _api(self, env: PlatformEnvironment) -> Service:
        command = ["backend", "api", "--host", self.host, "--port", str(self.port)]
        command += ["--first-demo"] if self._first_demo else []
        return self._service("api", *command, env=env.backend(), ready=lambda: self._answers("/healthz"))

    def _answers(self, path: str) -> bool:
        response = self._get(path)
        return response is not None and response.status_code == 200

    def _get(self, path: str) -> httpx.Response | None:
        try:
            return httpx.get(self.url + path, timeout=10, trust_env=False)
        except httpx.TransportError:
            return None

    def _await_ready(self) -> None:
        begin = time.monotonic()
        while True:
            response = self._get("/readyz")
            parts = response.json().get("parts", {}) if response is not None else {}
            ready = all(parts.get(name, {}).get("ready") for name in ("database", "storage"))
            away = [name for name in ("broker", "worker", "calls") if not parts.get(name, {}).get("ready")]
            waited = time.monotonic() - begin
            if ready and not away:
                return
            if ready and waited > _WORKERS_WITHIN:
                named = [parts.get(name, {}).get("message", f"{name}: no heartbeat yet") for name in away]
                self._say(
                    f"Serving, but not ready: {'; '.join(named)}. The logs are in {self.home / 'logs'}."
                )
                return
            if waited > _READY_WITHIN:
                reasons = [part["message"] for part in parts.values() if part.get("message")]
                raise Unavailable(
                    "the platform does not become ready: "
                    + "; ".join(reasons or ["/readyz does not answer"]),
                    code="not_ready",
                    hint=f"Read the logs in {self.home / 'logs'}.",
                )
            time.sleep(0.1)

    def _report(self, event: SupervisorEvent) -> None:
        if event.kind in ("running", "restarting", "failed"):
            self._say(event.message)


def free_port(host: str, port: int) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise StateConflict(
                f"cannot listen on {host}:{port}: {error.strerror or error}",
                code="port_in_use",
                hint="Choose another port with --port, or --port 0 for any free port.",
            ) from error
        return int(probe.getsockname()[1])


def accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def _on_signals(act: Callable[[], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    relay = Relay(act)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, relay.handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        relay.close()
