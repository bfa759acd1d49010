"""The composition of the platform, with stand-ins for backend, worker and sandbox (`stubs/`)."""

import json
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from reinforge.errors import InvalidInput, StateConflict, Unavailable
from reinforge.platform import up
from reinforge.platform.environment import PlatformEnvironment
from reinforge.platform.places import running_address
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.platform.up import Platform
from reinforge.system.process_table import descendants
from tests.support.processes import alive, all_gone, eventually, kill_all

STUBS = Path(__file__).with_name("stubs")
ROLES = ["migrate", "sandbox", "api", "background", "worker", "calls"]
SECRETS = {
    "DATABASE_URL": "postgresql://u:secret@h/d",
    "AWS_SECRET_ACCESS_KEY": "aws-secret",
    "REINFORGE_SECRET_KEY": "opens the keys of judges",
}


@pytest.fixture(autouse=True)
def stubs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(STUBS))
    for name in ("REDIS_URL", "STORAGE_URL", "SANDBOX_SOCKET", "REINFORGE_URL", "REINFORGE_WORKER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    yield home
    if home.is_dir():
        EmbeddedPostgres(home).destroy()


def record_of(home: Path, role: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((home / "seen" / role).read_text())
    return record


def pids(home: Path) -> list[int]:
    running = [path for path in (home / "seen").iterdir() if path.name in ROLES]
    return [record_of(home, path.name)["pid"] for path in running]


def test_everything_runs_while_the_platform_does_and_nothing_afterwards(home: Path) -> None:
    with Platform(home, port=0) as platform:
        assert httpx.get(platform.url + "/healthz").status_code == 200
        eventually(lambda: sorted(path.name for path in (home / "seen").iterdir()) == sorted(ROLES))
        assert len(alive(pids(home))) == len(ROLES) - 1  # migrations have ended
        assert platform.sign_in_url == platform.url + "/sign-in#once"
    assert alive(pids(home)) == []
    assert list((home / "run").glob("*.pid")) == []


def test_each_process_gets_the_variables_it_needs_and_no_more(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", "")
    monkeypatch.setenv("REINFORGE_METRICS_TOKEN", "of-the-scraper-1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic x")
    with Platform(home, port=0, bootstrap_api_key="rf-boot") as platform:
        eventually(lambda: {*ROLES} <= {path.name for path in (home / "seen").iterdir()})
        local = platform.url
    env = {role: record_of(home, role)["env"] for role in ROLES}
    token = (home / "worker-token").read_text().strip()
    for role in ("api", "background", "migrate"):
        assert env[role]["DATABASE_URL"] == SECRETS["DATABASE_URL"]
        assert env[role]["STORAGE_URL"] == (home / "objects").as_uri()
        assert env[role]["REINFORGE_BOOTSTRAP_API_KEY"] == "rf-boot"
        assert env[role]["REINFORGE_WORKER_TOKEN"] == token
    for role in ("worker", "calls"):
        assert env[role]["REINFORGE_URL"] == local
        assert env[role]["REINFORGE_WORKER_TOKEN"] == token
        assert env[role]["SANDBOX_SOCKET"] == env["api"]["SANDBOX_SOCKET"]
        assert not {*SECRETS, "STORAGE_URL", "REINFORGE_BOOTSTRAP_API_KEY"} & {*env[role]}
    assert not {*SECRETS, "STORAGE_URL", "REINFORGE_WORKER_TOKEN"} & {*env["sandbox"]}
    assert all("REINFORGE_METRICS_TOKEN" not in env[role] for role in ("worker", "calls", "sandbox"))
    assert "OTEL_EXPORTER_OTLP_HEADERS" in env["worker"]
    assert "OTEL_EXPORTER_OTLP_HEADERS" not in env["sandbox"]
    assert all("REDIS_URL" not in variables for variables in env.values())
    assert all(variables["REINFORGE_HOME"] == str(home) for variables in env.values())


def test_worker_token_stays_the_same_and_is_private(home: Path) -> None:
    tokens = []
    for _ in range(2):
        with Platform(home, port=0):
            tokens.append((home / "worker-token").read_text())
    assert tokens[0] == tokens[1]
    assert (home / "worker-token").stat().st_mode & 0o077 == 0


def test_public_address_is_for_people_and_loopback_for_the_workers_here(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REINFORGE_URL", "https://rl.example.org")
    with Platform(home, port=0, host="0.0.0.0") as platform:
        eventually(lambda: (home / "seen" / "worker").exists())
        assert platform.url == f"http://127.0.0.1:{platform.port}"
        assert platform.sign_in_url == "https://rl.example.org/sign-in#once"
    assert record_of(home, "worker")["env"]["REINFORGE_URL"] == platform.url


def test_second_platform_on_one_home_is_refused(home: Path) -> None:
    with Platform(home, port=0) as first:
        assert running_address(home) == ("127.0.0.1", first.port)
        with pytest.raises(StateConflict, match="is in use by process") as caught, Platform(home, port=0):
            pass
        assert caught.value.code == "already_running"
        assert httpx.get(first.url + "/healthz").status_code == 200


def test_port_of_another_program_is_refused_before_anything_starts(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StateConflict, match=f"cannot listen on 127.0.0.1:{port}") as caught:
            Platform(home, port=port).start()
    assert caught.value.code == "port_in_use"
    assert not (home / "seen").exists()


def test_home_that_is_a_file_is_refused(home: Path) -> None:
    home.write_text("")
    with pytest.raises(Unavailable, match="cannot be used: File exists") as caught:
        Platform(home, port=0).start()
    assert caught.value.code == "home_unusable"


def test_failed_migration_shows_its_last_words_and_leaves_nothing_running(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_MIGRATE_FAILS", "1")
    with pytest.raises(Unavailable, match="migrate ended with status 1:\ncolumn price is in the way"):
        Platform(home, port=0).start()
    assert alive(pids(home)) == []
    monkeypatch.delenv("STUB_MIGRATE_FAILS")
    with Platform(home, port=0) as platform:  # the failed start has given the home back
        assert httpx.get(platform.url + "/healthz").status_code == 200


def test_platform_serves_without_a_sandbox(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_SANDBOX_FAILS", "1")
    messages: list[str] = []
    with Platform(home, port=0, say=messages.append) as platform:
        assert httpx.get(platform.url + "/healthz").status_code == 200
    assert any("sandbox ended with status 1:\nno jail here" in sentence for sentence in messages)


def test_killed_worker_and_database_come_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL")
    with Platform(home, port=0):
        url = record_of(home, "api")["env"]["DATABASE_URL"]
        eventually(lambda: (home / "seen" / "worker").exists())
        worker = record_of(home, "worker")["pid"]
        database = json.loads((home / "postgres" / "server.pid").read_text())["keeper"]["pid"]
        kill_all([worker, *(process.pid for process in descendants(database))])
        eventually(lambda: record_of(home, "worker")["pid"] != worker, what="a new worker")
        eventually(lambda: _connects(url), what="a new database server")
    assert not _connects(url)


def _connects(url: str) -> bool:
    try:
        with psycopg.connect(url) as connection:
            return connection.execute("SELECT true").fetchone() == (True,)
    except psycopg.OperationalError:
        return False


UP = """
    import signal, sys
    from pathlib import Path
    from reinforge.platform.up import Platform

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    try:
        with Platform(Path(sys.argv[1]), port=0) as platform:
            print(platform.url, flush=True)
            platform.wait()
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_however_the_platform_ends(
    home: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL")
    command = [sys.executable, "-c", textwrap.dedent(UP), str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as platform:
        assert platform.stdout is not None
        assert platform.stdout.readline().startswith("http://127.0.0.1:")
        running = [process.pid for process in descendants(platform.pid)]
        assert len(running) > 15  # seven keepers, six commands, the database's own processes
        platform.send_signal(number)
        words = platform.stdout.read()
    all_gone(running, within=0 if number != signal.SIGKILL else 30)
    assert words == ("stopped\n" if number != signal.SIGKILL else "")


def test_interrupt_during_the_start_leaves_nothing(home: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(UP), str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as platform:
        eventually(lambda: (home / "seen").exists() and [*(home / "seen").iterdir()])
        platform.send_signal(signal.SIGINT)
        platform.wait(60)
    all_gone(pids(home), within=0)


def test_folder_named_like_a_room_in_the_working_directory_is_not_ours(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ("backend", "worker"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__main__.py").write_text("raise SystemExit('somebody else')")
    monkeypatch.chdir(tmp_path)
    with Platform(home, port=0) as platform:
        assert httpx.get(platform.url + "/healthz").status_code == 200


def test_there_is_a_worker_for_each_job_that_finds_gpus(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").mkdir()
    monkeypatch.setattr(up, "_DEVICES", tmp_path / "dev")
    home.mkdir()

    def workers(report: str) -> list[str]:
        monkeypatch.setenv("STUB_DEVICES", report)
        return Platform(home)._workers(PlatformEnvironment(home, "http://here", "db", home / "s"))

    assert workers("not asked without a device") == ["worker"]
    (tmp_path / "dev" / "nvidia0").touch()
    assert workers('{"jobs": 3}') == ["worker", "worker-2", "worker-3"]
    assert workers("") == ["worker"], "its own log says what is wrong with it"
    with pytest.raises(InvalidInput) as refused:
        workers('{"message": "no GPU 9", "code": "impossible_placement", "param": "X", "hint": null}')
    assert (refused.value.code, refused.value.param) == ("impossible_placement", "X")
