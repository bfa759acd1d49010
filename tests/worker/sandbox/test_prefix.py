"""The prefix: created once, whole or not at all, readable by others, nothing else changed."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.sandbox.jails import prefix
from worker.sandbox.jails.base import jail_environment
from worker.sandbox.jails.prefix import (
    PrefixError,
    default_root,
    ensure_prefix,
    make_folder,
    require_traversable,
)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach (pytest's own are closed)."""
    folder = Path(tempfile.mkdtemp(prefix="sbx-prefix-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def tight_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def build_small(made: list[str]) -> object:
    def build(folder: Path) -> None:
        made.append(folder.name)
        (folder / "file").write_text("whole")

    return build


@pytest.mark.long
@pytest.mark.usefixtures("tight_umask")
def test_the_prefix_runs_by_itself_and_is_open_to_others(open_folder: Path) -> None:
    made = ensure_prefix(open_folder / "a" / "b")
    require_traversable(made.program)
    for path in [*made.python.parents[1].rglob("*"), *made.program.rglob("*")]:
        expected = 0o555 if path.is_dir() else 0o444
        assert path.stat().st_mode & expected == expected, path
    check = (
        "import sys, ctypes, decimal, zlib, math; print(sys.prefix, [p for p in sys.path if 'packages' in p])"
    )
    other = 64102 if os.geteuid() == 0 else None
    done = subprocess.run(
        [str(made.python), "-s", "-P", "-S", "-c", check],
        env=jail_environment(made), user=other, group=other, extra_groups=[] if other else None,
        capture_output=True, text=True, cwd="/",
    )  # fmt: skip
    assert done.stdout.strip() == f"{made.python.parents[1]} []", done.stderr
    assert not list(made.python.parents[1].rglob("site-packages"))
    assert not (open_folder / "a" / "b").joinpath("python").exists()


def test_a_second_start_reuses_everything() -> None:
    first = ensure_prefix()
    inodes = [path.stat().st_ino for path in (first.python, first.program)]
    second = ensure_prefix()
    assert second == first
    assert [path.stat().st_ino for path in (second.python, second.program)] == inodes


def test_several_starts_at_once_make_one(open_folder: Path) -> None:
    made: list[str] = []
    threads = [
        threading.Thread(target=prefix._ensure, args=(open_folder, "thing", build_small(made)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert (open_folder / "thing" / "file").read_text() == "whole"


def test_an_interrupted_build_leaves_nothing_that_looks_finished(open_folder: Path) -> None:
    def broken(folder: Path) -> None:
        (folder / "file").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        prefix._ensure(open_folder, "thing", broken)
    (open_folder / ".thing-killed").mkdir()
    assert [path.name for path in open_folder.iterdir() if path.is_dir()] == [".thing-killed"]
    prefix._ensure(open_folder, "thing", build_small([]))  # type: ignore[arg-type]
    assert [path.name for path in open_folder.iterdir() if path.is_dir()] == ["thing"]


def test_a_failure_says_where_and_what(monkeypatch: pytest.MonkeyPatch, open_folder: Path) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(prefix, "_copy_python", full)
    with pytest.raises(PrefixError, match=f"under {open_folder}.*No space left"):
        ensure_prefix(open_folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")
def test_a_closed_ancestor_is_named_and_left_as_it_is(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(PrefixError, match=f"{closed} is closed to other users.*REINFORGE_PREFIX"):
        ensure_prefix(closed / "prefix")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to someone else")
def test_a_folder_made_by_someone_else_is_not_used(open_folder: Path) -> None:
    (open_folder / "thing").mkdir()
    os.chown(open_folder / "thing", 64102, 64102)
    with pytest.raises(PrefixError, match="belongs to user 64102"):
        prefix._ensure(open_folder, "thing", build_small([]))  # type: ignore[arg-type]


@pytest.mark.usefixtures("tight_umask")
def test_only_missing_folders_get_a_mode(open_folder: Path) -> None:
    open_folder.chmod(0o711)
    make_folder(open_folder / "x" / "y")
    modes = [
        stat.S_IMODE(path.stat().st_mode)
        for path in (open_folder, open_folder / "x", open_folder / "x" / "y")
    ]
    assert modes == [0o711, 0o755, 0o755]


def test_where_the_prefix_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REINFORGE_PREFIX", raising=False)
    monkeypatch.setenv("REINFORGE_HOME", "/data/reinforge")
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_root() == Path("/var/lib/reinforge")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert default_root() == Path("/data/reinforge/prefix")
    monkeypatch.delenv("REINFORGE_HOME")
    assert default_root() == Path("/home/someone/.cache/reinforge")
    monkeypatch.setenv("REINFORGE_PREFIX", "/opt/p")
    assert default_root() == Path("/opt/p")


def test_another_interpreter_gets_another_folder(tmp_path: Path) -> None:
    other = tmp_path / "python"
    shutil.copy(sys.executable, other)
    assert prefix._interpreter_hash(other) != prefix._interpreter_hash(Path(sys.executable).resolve())
