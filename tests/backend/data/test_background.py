"""Background work: one leader, repeated wake-ups, clean-up."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import psycopg
import pytest

from backend.background import Leader, send_forever
from backend.data import leader_lock
from backend.data.database import Database
from backend.data.objects import _REFERENCES, Objects, configured_store
from backend.models import Base
from backend.rpc.wake_ups import WakeUps
from backend.settings import Settings
from tests.backend.server import Backend, wait_until


def with_leader(backend: Backend, action: Callable[[Leader], Awaitable[None]]) -> None:
    async def run() -> None:
        database = Database(backend.database_url, pool_size=2)
        wake_ups = WakeUps(backend.settings)
        try:
            objects = Objects(database, configured_store(backend.settings))
            await action(Leader(database, objects, wake_ups))
        finally:
            wake_ups.close()
            await database.close()

    asyncio.run(run())


def test_the_health_check_finds_the_leader_of_this_database(
    empty_database_url: str,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url.replace("postgresql:", "postgresql+psycopg:"))
    assert leader_lock.main() == 1 and "No background process leads" in capsys.readouterr().err
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT pg_try_advisory_lock(%s)", (leader_lock.LEADER_LOCK,))
        assert leader_lock.main() == 0
        assert not leader_lock.is_held(empty_database_url), "the lock of another database counts there alone"
    monkeypatch.setenv("DATABASE_URL", "postgresql://u@127.0.0.1:1/d")
    assert leader_lock.main() == 1 and "does not answer" in capsys.readouterr().err


def messages(backend: Backend, job: str) -> int:
    folder = backend.home / "broker" / "queue"
    headers = [json.loads(path.read_text())["headers"] for path in folder.iterdir()]
    return sum(header["argsrepr"] == f"['{job}']" for header in headers)


def test_a_queued_job_is_announced_again_when_its_message_may_be_lost(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    with_leader(rpc_backend, Leader.wake_ups_again)
    assert messages(rpc_backend, job) == 1
    rpc_backend.sql("UPDATE job SET woken_at = now() - interval '21 s' WHERE id = %s", job)
    with_leader(rpc_backend, Leader.wake_ups_again)
    with_leader(rpc_backend, Leader.wake_ups_again)
    assert messages(rpc_backend, job) == 2


def test_a_broker_that_is_away_fails_no_request(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Backend(database_url, tmp_path, redis_url="redis://127.0.0.1:1/0") as backend, backend.rpc_worker():
        job = backend.create_job()
        assert backend.job(job)["status"] == "queued"
    assert "not sent" in caplog.text


def test_objects_that_nothing_refers_to_go_after_a_day(rpc_backend: Backend) -> None:
    used = rpc_backend.claim(rpc_backend.create_job()).claimed["dataset"]["sha256"]
    young, old, half = (rpc_backend.add_object(content, "resume") for content in (b"young", b"old", b"half"))
    rpc_backend.sql("UPDATE stored_object SET state = 'writing' WHERE sha256 = %s", half)
    for sha256 in (used, old, half):
        rpc_backend.sql(
            "UPDATE stored_object SET touched_at = now() - interval '25 h' WHERE sha256 = %s", sha256
        )
    with_leader(rpc_backend, Leader.objects_sweep)
    status = {name: rpc_backend.get_blob(name).status_code for name in (used, young, old, half)}
    assert status == {used: 200, young: 200, old: 404, half: 404}
    files = {path.name for path in (rpc_backend.home / "objects").rglob("*") if path.is_file()}
    assert {used, young} <= files
    assert not {old, half} & files
    assert rpc_backend.add_object(b"old", "resume") == old
    assert rpc_backend.get_blob(old).content == b"old"


def test_the_sweep_knows_everything_that_refers_to_objects() -> None:
    """A file goes before its row: what the sweep did not know would lose its content."""
    refer = {
        column
        for table in Base.metadata.tables.values()
        for column in table.columns
        # What goes with the object does not hold it.
        if any(
            key.column.table.name == "stored_object" and key.ondelete != "CASCADE"
            for key in column.foreign_keys
        )
    }
    assert {reference.expression for reference in _REFERENCES} == refer


def test_calls_that_nobody_waits_for_go(backend: Backend) -> None:
    backend.sql(
        "INSERT INTO call (id, kind, payload, state, deadline, created_at) VALUES"
        " ('call_old', 'score', '{}', 'taken', now() - interval '1 h', now()),"
        " ('call_new', 'score', '{}', 'taken', now(), now())"
    )
    with_leader(backend, lambda leader: leader.calls.clean_up())  # type: ignore[arg-type, return-value]
    assert backend.sql("SELECT id FROM call WHERE id IN ('call_old', 'call_new')") == [("call_new",)]


def test_one_process_leads_and_another_takes_over(empty_database_url: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": empty_database_url, "REINFORGE_HOME": str(tmp_path)}
    environment.pop("REDIS_URL", None)
    subprocess.run(
        [sys.executable, "-m", "backend", "migrate"], env=environment, check=True, capture_output=True
    )
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    running = []
    for log in logs:
        with log.open("wb") as output:
            command = [sys.executable, "-m", "backend", "background"]
            running.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
    try:
        wait_until(lambda: any("leading" in log.read_text() for log in logs), "a leader", within=60)
        first = next(index for index, log in enumerate(logs) if "leading" in log.read_text())
        other = 1 - first
        assert "leading" not in logs[other].read_text()
        running[first].send_signal(signal.SIGTERM)
        assert running[first].wait(20) == 0
        wait_until(lambda: "leading" in logs[other].read_text(), "the next leader", within=60)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REINFORGE_HOME", str(tmp_path))
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:hidden-word@/d")
    monkeypatch.delenv("STORAGE_URL", raising=False)
    settings = Settings()
    assert settings.storage == (tmp_path / "objects").as_uri()
    assert "hidden-word" not in repr(settings)


def test_an_unexpected_error_does_not_end_the_sending(caplog: pytest.LogCaptureFixture) -> None:
    looks: list[int] = []

    async def send_due() -> int:
        looks.append(1)
        if len(looks) == 1:
            raise UnicodeError("label too long")
        if len(looks) == 3:
            raise asyncio.CancelledError
        return 5

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(send_forever("webhooks", send_due, full=5, pause=0.0))
    assert len(looks) == 3
    assert "label too long" in caplog.text
