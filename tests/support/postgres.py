"""Databases for tests: one server per test run, shared by all its processes; a fresh database per test.

    def test_something(database_url: str) -> None: ...           # its own copy of the migrated database
    def test_others(module_database_url: str) -> None: ...       # one copy for the tests of a file
    def test_bare(empty_database_url: str) -> None: ...          # before any migration

A `conftest.py` switches the fixtures on with `pytest_plugins = ["tests.support.postgres"]`. The server is the
embedded one, or that of `REINFORGE_TEST_DATABASE_URL` (its role must be allowed to create databases).
"""

import contextlib
import fcntl
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

_ROOT = Path(__file__).resolve().parents[2]
_START_WITHIN = 120.0
_STOP_WITHIN = 30.0
_DROP_WITHIN = 60.0
_MIGRATED = "reinforge_test_migrated"


@dataclass(frozen=True)
class DatabaseServer:
    """A server on which tests may make and drop databases. `folder` is shared by the processes of one run."""

    url: str
    folder: Path
    run: str

    def address(self, database: str) -> str:
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{database}"))

    def create(self, template: str = "template0") -> str:
        """A new database, copied from `template`; returns its URL."""
        name = f"test_{self.run}_{secrets.token_hex(4)}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.address(name)

    def drop(self, url: str) -> None:
        """Drop a database, ending the sessions that a test has left open.

        Only a superuser may end the server's own vacuum, which comes to any database now and then: it is waited for.
        """
        name = urlsplit(url).path.lstrip("/")
        deadline = time.monotonic() + _DROP_WITHIN
        while True:
            try:
                return self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            except psycopg.errors.InsufficientPrivilege:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    @contextlib.contextmanager
    def database(self, template: str = "template0") -> Iterator[str]:
        url = self.create(template)
        try:
            yield url
        finally:
            self.drop(url)

    def migrated(self) -> str:
        """The name of the template on which the migrations have run; built by the first process that asks."""
        name, done = f"{_MIGRATED}_{self.run}", self.folder / "migrated"
        with _locked(self.folder / "migrating"):
            if not done.exists():
                self.execute(f'DROP DATABASE IF EXISTS "{name}"')
                self.execute(f'CREATE DATABASE "{name}"')
                _migrate(self.address(name))
                done.touch()
        return name


def _migrate(url: str) -> None:
    command = [sys.executable, "-m", "backend", "migrate"]
    done = subprocess.run(
        command,
        cwd=_ROOT,
        env={**os.environ, "DATABASE_URL": url},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}")


@contextlib.contextmanager
def _locked(path: Path, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, kind)
        yield


@contextlib.contextmanager
def shared_server(folder: Path) -> Iterator[DatabaseServer]:
    """The server in `folder`: started by the first process that needs it, stopped after the last one has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    me = folder / f"user-{os.getpid()}-{secrets.token_hex(4)}"
    with contextlib.ExitStack() as use:
        with _locked(folder / "starting"):
            use.enter_context(_locked(folder / "users", fcntl.LOCK_SH))
            if not (folder / "url").exists():
                _start_holder(folder)
            url = (folder / "url").read_text()
            me.touch()
        yield DatabaseServer(url, folder, run="own")
        me.unlink()
        last = not list(folder.glob("user-*"))
    deadline = time.monotonic() + _STOP_WITHIN
    while last and (folder / "url").exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def _start_holder(folder: Path) -> None:
    (folder / "migrated").unlink(missing_ok=True)
    log = folder / "holder.log"
    with log.open("ab") as output:
        holder = subprocess.Popen(
            [sys.executable, "-m", "tests.support.postgres_holder", str(folder)],
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_WITHIN
    while not (folder / "url").exists():
        if holder.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the test database does not start:\n{log.read_text()}")
        time.sleep(0.02)


def _run_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder shared by the processes of this test run."""
    base = factory.getbasetemp()
    under_xdist = "PYTEST_XDIST_WORKER" in os.environ
    return (base.parent if under_xdist else base) / "postgres"


@pytest.fixture(scope="session")
def database_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseServer]:
    folder = _run_folder(tmp_path_factory)
    external = os.environ.get("REINFORGE_TEST_DATABASE_URL")
    if external is None:
        with shared_server(folder) as server:
            yield server
        return
    folder.mkdir(exist_ok=True)
    run = folder.parent.name.replace("-", "_")
    server = DatabaseServer(external, folder, run=f"{run}_{os.getuid()}")
    yield server


@pytest.fixture
def empty_database_url(database_server: DatabaseServer) -> Iterator[str]:
    with database_server.database() as url:
        yield url


@pytest.fixture
def database_url(database_server: DatabaseServer) -> Iterator[str]:
    with database_server.database(database_server.migrated()) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(database_server: DatabaseServer) -> Iterator[str]:
    with database_server.database(database_server.migrated()) as url:
        yield url


@pytest.fixture(scope="module")
def other_module_database_url(database_server: DatabaseServer) -> Iterator[str]:
    """Database of a second backend in the same file, which has a home of its own."""
    with database_server.database(database_server.migrated()) as url:
        yield url
