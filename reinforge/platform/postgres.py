"""Embedded PostgreSQL 18 server of one data folder (home).

It listens on a Unix socket in a private folder, requires a password and ends with its parent process.
"""

import os
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from reinforge.errors import Unavailable
from reinforge.platform import keeper
from reinforge.platform.cluster import (
    DATABASE,
    PLAIN_ENV,
    ROLE,
    SERVER_UID,
    Cluster,
    as_root,
    open_cluster,
    reachable_programs,
    recorded_cluster,
)
from reinforge.platform.places import FolderLock, socket_folder
from reinforge.platform.supervised_process import SupervisedProcess
from reinforge.system.process_table import send, wait_gone, working_in

_PORT = 5432
_SOCKET = f".s.PGSQL.{_PORT}"
_READY_WITHIN = 180.0
_STOP_GRACE = 20.0

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Parallel queries exchange rows through /dev/shm, of which a container has 64 MB; our queries are small.
    "max_parallel_workers_per_gather": "0",
    "log_line_prefix": "%m [%p] ",
}


class EmbeddedPostgres:
    name = "postgres"

    def __init__(self, home: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self.home = home.resolve()
        self._settings = {**SETTINGS, **(settings or {})}
        self._durable = self._settings.get("fsync") != "off"
        self._lock = FolderLock(self.home / "postgres" / "lock", "the database of")
        self._cluster: Cluster | None = None
        self._sockets: Path | None = None
        self._programs = Path()
        self._process: SupervisedProcess | None = None

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / "postgres.log"

    @property
    def running(self) -> bool:
        process = self._process
        return process is not None and process.running

    def url(self, database: str = DATABASE) -> str:
        if self._cluster is None or self._sockets is None:
            raise Unavailable("the embedded database has not been started", code="postgres_not_started")
        host = quote(str(self._sockets), safe="/")
        return f"postgresql://{ROLE}:{self._cluster.password}@/{database}?host={host}&port={_PORT}"

    def url_of_running(self) -> str:
        """Connection URL of a server that another process started. Raises Unavailable if the home has no database
        cluster."""
        self._cluster = recorded_cluster(self.home)
        if self._cluster is not None:
            self._sockets = _sockets_of(self._cluster)
        return self.url()

    def prepare(self) -> str:
        """Lock the home and open its cluster, created at first use. Returns the server's future `url`.

        Raises StateConflict if the home is locked, Unavailable without a usable cluster.
        """
        self._lock.acquire()
        try:
            programs = reachable_programs()
            self._cluster = open_cluster(self.home, programs, durable=self._durable)
            self._sockets = _sockets_of(self._cluster)
        except BaseException:
            self._lock.release()
            raise
        self._programs = programs
        return self.url()

    def start(self) -> None:
        if self.running:
            return
        self.prepare()
        try:
            assert self._cluster is not None
            self._end_leftovers(self._cluster)
            self._process = self._spawn(self._cluster)
            self._await_ready(self._cluster)
        except BaseException:
            self.stop()
            raise

    @property
    def status(self) -> int | None:
        process = self._process
        return None if process is None else process.status

    def ask_stop(self) -> None:
        process = self._process
        if process is not None:
            process.ask_stop()

    def hurry(self) -> None:
        process = self._process
        if process is not None:
            process.hurry()

    def stop(self) -> None:
        if self._process is not None:
            self._process.ask_stop()
            self._process.stop()
            self._process = None
        self._lock.release()

    def destroy(self) -> None:
        cluster = recorded_cluster(self.home)
        self.stop()
        if cluster is not None:
            for folder in (_sockets_of(cluster), cluster.folder, self.home / "postgres"):
                shutil.rmtree(folder, ignore_errors=True)
        self._cluster = self._sockets = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _pid_file(self) -> Path:
        return self.home / "postgres" / "server.pid"

    def _end_leftovers(self, cluster: Cluster) -> None:
        """End servers that an earlier run left, and remove their lock files, whose pids may be reused."""
        keeper.end_leftovers(self._pid_file)
        remaining = working_in(cluster.data)
        for number, patience in ((signal.SIGINT, _STOP_GRACE), (signal.SIGKILL, 10.0)):
            for server in remaining:
                send(server, number)
            remaining = wait_gone(remaining, patience)
        if remaining:
            raise Unavailable(
                f"an earlier database server could not be stopped; end process {remaining[0].pid}",
                code="postgres_start_failed",
            )
        assert self._sockets is not None
        for path in (
            cluster.data / "postmaster.pid",
            self._sockets / _SOCKET,
            self._sockets / f"{_SOCKET}.lock",
        ):
            path.unlink(missing_ok=True)

    def _spawn(self, cluster: Cluster) -> SupervisedProcess:
        settings = {**self._settings, "port": str(_PORT), "unix_socket_directories": str(self._sockets)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        plan = keeper.KeeperPlan(
            command=[str(self._programs / "bin/postgres"), "-D", str(cluster.data), *options],
            pid_file=str(self._pid_file),
            grace=_STOP_GRACE,
            stop_signal=signal.SIGINT,  # "fast": end the sessions, write a checkpoint, leave
            user=SERVER_UID if as_root() else None,
            group=SERVER_UID if as_root() else None,
            env=dict(PLAIN_ENV),
        )
        return SupervisedProcess(plan, self.log_file, os.environ, cwd=Path("/"))

    def _await_ready(self, cluster: Cluster) -> None:
        deadline = time.monotonic() + _READY_WITHIN
        while not _says_ready(cluster.data / "postmaster.pid"):
            assert self._process is not None
            status = self._process.status
            if status is None and time.monotonic() < deadline:
                time.sleep(0.02)
                continue
            ended = "does not become ready" if status is None else f"ended with status {status}"
            lines = self.log_file.read_text(errors="replace").splitlines()[-5:]
            raise Unavailable(
                f"the embedded database {ended}: " + " / ".join(lines),
                code="postgres_start_failed",
                hint=f"Read {self.log_file}, or set DATABASE_URL to a PostgreSQL server of your own.",
            )


def _sockets_of(cluster: Cluster) -> Path:
    return socket_folder(cluster.folder, f"{_SOCKET}.lock", SERVER_UID if as_root() else None)


def _says_ready(pid_file: Path) -> bool:
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[7].strip() == "ready"
