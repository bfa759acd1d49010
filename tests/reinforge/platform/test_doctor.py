"""The doctor's checks: each complaint has a remedy and no secret."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reinforge.platform import cluster, doctor, places, probe
from reinforge.platform.doctor import Check, Status, run_checks

STUBS = Path(__file__).with_name("stubs")
NAMES = [
    "python", "home", "disk", "memory", "database", "storage", "broker", "landlock", "sandbox", "torch", "vllm",
    "plugins", "page", "port", "workers",
]  # fmt: skip
CLOSED = "127.0.0.1:9"  # the discard port; nobody listens there


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "DATABASE_URL",
        "REDIS_URL",
        "STORAGE_URL",
        "SANDBOX_URL",
        "SANDBOX_SOCKET",
        "REINFORGE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


def complaint(check: Check, status: str) -> str:
    assert check.status == status, check
    assert check.remedy
    return check.message


def test_every_check_answers_on_this_machine(tmp_path: Path) -> None:
    checks = run_checks(tmp_path / "home", port=0)
    assert [check.name for check in checks] == NAMES
    by_name = {check.name: check for check in checks}
    for name in ("python", "database", "storage", "broker", "port"):
        assert by_name[name].status == "ok", by_name[name]
    assert by_name["home"].status == ("warn" if os.geteuid() == 0 else "ok")
    assert "PostgreSQL) 18." in by_name["database"].message
    assert "does not respond" not in by_name["sandbox"].message
    assert all(check.remedy for check in checks if check.status != "ok")
    assert not (tmp_path / "home").exists()


def test_database_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql+psycopg://u:hush-hush@{CLOSED}/d")
    message = complaint(doctor.check_database(), "fail")
    assert message.startswith("DATABASE_URL does not answer: connection failed")
    assert "Connection refused" in message
    assert "hush-hush" not in message


def test_database_that_answers(monkeypatch: pytest.MonkeyPatch, empty_database_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_database_url.replace("postgresql:", "postgresql+psycopg:"))
    assert doctor.check_database().status == "ok"


def test_missing_programs_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_WHEEL", "no-such-wheel")
    assert complaint(doctor.check_database(), "fail") == "PostgreSQL's programs are not installed"


def test_redis_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", f"redis://:hush-hush@{CLOSED}/0")
    assert "hush-hush" not in complaint(doctor.check_broker(), "fail")


def test_storage_of_an_unknown_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_URL", "ftp://files.example.org/x")
    complaint(doctor.check_storage(tmp_path), "fail")
    monkeypatch.setenv("STORAGE_URL", (tmp_path / "objects").as_uri())
    assert doctor.check_storage(tmp_path).status == "ok"


def test_home_where_nothing_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    complaint(doctor.check_home(tmp_path / "file" / "home"), "fail")


@pytest.mark.parametrize(("uid", "status"), [(0, "warn"), (1000, "ok")])
def test_root_is_warned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int, status: Status) -> None:
    monkeypatch.setattr("os.geteuid", lambda: uid)
    assert doctor.check_home(tmp_path).status == status


def test_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        state = doctor.port_state("127.0.0.1", other.getsockname()[1], own=False)
        complaint(Check("port", *state), "fail")


def test_what_the_sandbox_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(STUBS))
    proved = {"jail": "L", "available": True, "reasons": [], "refused": {"N": "bubblewrap is not installed"}}
    monkeypatch.setenv("STUB_PROBE", json.dumps(proved))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert doctor.check_sandbox().message.endswith("; jails run as this user (uid 1000)")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert doctor.check_sandbox() == Check(
        "sandbox",
        "ok",
        "jail L (Landlock) works; it is the strongest that does; "
        "jail N (namespaces) is refused: bubblewrap is not installed",
    )
    refused = {"jail": None, "available": False, "reasons": ["no Landlock"]}
    monkeypatch.setenv("STUB_PROBE", json.dumps(refused))
    remedy = doctor.check_sandbox().remedy or ""
    assert "install bubblewrap" in remedy and "SANDBOX_URL=tcp://" in remedy, "both ways out"
    assert complaint(doctor.check_sandbox(), "warn") == "no jail works: no Landlock"
    monkeypatch.setenv("STUB_PROBE", "not JSON")
    assert "does not respond" in complaint(doctor.check_sandbox(), "warn")


def test_a_sandbox_on_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(STUBS))
    monkeypatch.setenv("SANDBOX_URL", "tcp://box:7100")
    answer = {"address": "tcp://box:7100", "jail": "N", "available": True, "reasons": [], "refused": {}}
    monkeypatch.setenv("STUB_PROBE", json.dumps(answer))
    assert "jail N (namespaces) works at tcp://box:7100" in doctor.check_sandbox().message
    away = {**answer, "jail": None, "available": False, "reasons": ["nobody there"]}
    monkeypatch.setenv("STUB_PROBE", json.dumps(away))
    check = doctor.check_sandbox()
    assert complaint(check, "warn") == "no jail works at tcp://box:7100: nobody there"
    assert "SANDBOX_KEY_FILE" in (check.remedy or "")


def test_in_the_backend_s_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither torch nor a sandbox belongs there, and its port is in use because the api listens on it."""
    monkeypatch.setenv("REINFORGE_CONTAINER", "backend")
    monkeypatch.setenv("DATABASE_URL", f"postgresql://u:p@{CLOSED}/d")
    with ready_server({"ready": True, "parts": {}}) as port:
        checks = {check.name: check for check in run_checks(tmp_path / "home", port=port)}
    assert not {"torch", "vllm", "sandbox", "landlock", "port"} & set(checks)
    assert checks["server"].status == "ok"
    assert "docker compose logs postgres" in (checks["database"].remedy or "")
    nowhere = doctor.check_server(f"http://{CLOSED}", required=False)
    assert nowhere.status == "ok" and "no API runs in this container" in nowhere.message


def test_in_the_worker_s_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has neither database nor page, and nothing is advised that an image cannot do."""
    monkeypatch.setenv("REINFORGE_CONTAINER", "worker")
    monkeypatch.setenv("SANDBOX_SOCKET", str(tmp_path / "none.sock"))
    monkeypatch.setenv("REINFORGE_URL", f"http://{CLOSED}")
    monkeypatch.setattr(doctor, "_run", lambda *_, **__: doctor._RunOutput("", "no module named that"))
    checks = {check.name: check for check in run_checks(tmp_path / "home", port=0)}
    assert not {"database", "storage", "page", "port"} & set(checks)
    assert checks["server"].status == "fail" and "docker compose logs api" in (checks["server"].remedy or "")
    assert "docker compose logs sandbox" in (checks["sandbox"].remedy or "")
    assert "docker compose build worker" in (checks["torch"].remedy or "")
    words = " ".join(f"{check.message} {check.remedy or ''}" for check in checks.values())
    assert "make vllm" not in words and "make setup" not in words and "pip install" not in words


def test_the_probe_of_containers(capsys: pytest.CaptureFixture[str]) -> None:
    parts = {"database": {"ready": True}, "worker": {"ready": False, "online": 0}}
    with ready_server({"ready": True, "parts": parts}) as port:
        url = f"http://127.0.0.1:{port}/readyz"
        assert probe.main([url]) == 0, "a platform without workers serves"
        assert probe.main([url, "database"]) == 0 and probe.main([url, "worker"]) == 1
        assert probe.main([url, "calls"]) == 1
    assert "worker is not ready" in capsys.readouterr().err
    with ready_server(
        {"ready": False, "parts": {"storage": {"ready": False, "message": "full"}}}, 503
    ) as port:
        assert probe.problem(f"http://127.0.0.1:{port}/readyz") == "storage is not ready: full"
    assert probe.main([f"http://{CLOSED}/readyz"]) == 1


@contextmanager
def ready_server(answer: dict[str, object], status: int = 200) -> Iterator[int]:
    """A server whose every answer is `answer`; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_the_port_is_that_of_the_platform_on_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"broker": {}, "worker": {"ready": True, "online": 1}, "calls": {"ready": True, "online": 1}}
    for name in [attribute for attribute in vars(doctor) if attribute.startswith("check_")]:
        monkeypatch.setattr(doctor, name, lambda *_: Check("other", "ok", ""))
    with ready_server({"parts": answers}) as port:
        url = f"http://127.0.0.1:{port}"
        (tmp_path / places.ADDRESS_FILE).write_text(f"127.0.0.1 {port}\n")
        left_over = {check.name: check for check in run_checks(tmp_path)}
        assert str(port) not in left_over["workers"].message, "no platform holds the home"
        lock = places.FolderLock(tmp_path / "lock", "the home")
        lock.acquire()
        try:
            running = {check.name: check for check in run_checks(tmp_path)}
            other = {check.name: check for check in run_checks(tmp_path, port=0)}
        finally:
            lock.release()
    assert (running["port"].status, str(port) in running["port"].message) == ("ok", True)
    assert running["workers"].message == f"1 online at {url}, 1 for calls"
    assert str(port) not in other["port"].message
