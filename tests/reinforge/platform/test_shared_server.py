"""The test database of `tests/support/postgres.py`: shared while it is used, gone when it is not."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.support.postgres import DatabaseServer, shared_server
from tests.support.processes import eventually

ROOT = Path(__file__).resolve().parents[3]
USER = """
import sys
from pathlib import Path
from tests.support.postgres import shared_server
with shared_server(Path(sys.argv[1])) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


def connects(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def another_user(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", USER, str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_server_is_shared_and_ends_with_its_last_user(tmp_path: Path) -> None:
    with shared_server(tmp_path) as server, another_user(tmp_path) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == server.url
        other.communicate("")
        assert connects(server.url)
    assert not connects(server.url)
    assert not (tmp_path / "home" / "postgres").exists()


def test_killed_user_does_not_keep_the_server(tmp_path: Path) -> None:
    with another_user(tmp_path) as user:
        assert user.stdout is not None
        url = user.stdout.readline().strip()
        assert connects(url)
        os.kill(user.pid, signal.SIGKILL)
    eventually(lambda: not (tmp_path / "url").exists(), what="the end of the server")
    assert not connects(url)


def test_databases_are_separate_copies_of_their_template(database_server: DatabaseServer) -> None:
    with database_server.database() as template:
        with psycopg.connect(template) as connection:
            connection.execute("CREATE TABLE note AS SELECT 'template' AS text")
        name = urlsplit(template).path.lstrip("/")
        with database_server.database(name) as first, database_server.database(name) as second:
            with psycopg.connect(first) as connection:
                connection.execute("UPDATE note SET text = 'changed'")
            with psycopg.connect(second) as connection:
                assert connection.execute("SELECT text FROM note").fetchone() == ("template",)
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(first)


def test_database_with_open_sessions_is_dropped(database_server: DatabaseServer) -> None:
    with database_server.database() as url:
        connection = psycopg.connect(url)
        connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")


def test_a_database_that_the_server_is_vacuuming_is_dropped_after_it(database_server: DatabaseServer) -> None:
    class Vacuumed(DatabaseServer):
        refusals = iter([psycopg.errors.InsufficientPrivilege("permission denied to terminate process")] * 2)

        def execute(self, statement: str) -> None:
            for refusal in self.refusals:
                raise refusal
            super().execute(statement)

    url = database_server.create()
    Vacuumed(database_server.url, database_server.folder, database_server.run).drop(url)
    assert not connects(url)
    assert list(Vacuumed.refusals) == []
