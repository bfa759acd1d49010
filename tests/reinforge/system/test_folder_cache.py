"""Folder cache: what is evicted, and in which order."""

import os
from pathlib import Path

import pytest

from reinforge.system.folder_cache import FolderCache


def fill(folder: Path, **sizes: int) -> None:
    """Files of these sizes, each used a second after the one before."""
    for second, (name, size) in enumerate(sizes.items()):
        (folder / name).write_bytes(bytes(size))
        os.utime(folder / name, (second, second))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_least_recently_used_go_until_the_rest_fits(tmp_path: Path) -> None:
    fill(tmp_path, a=10, b=10, c=10, d=10)
    cache = FolderCache(tmp_path, max_bytes=25)
    assert cache.use("a") == tmp_path / "a"
    cache.evict()
    assert names(tmp_path) == {"a", "d"}


def test_entries_can_be_counted_instead(tmp_path: Path) -> None:
    fill(tmp_path, a=10, b=10, c=10)
    FolderCache(tmp_path, max_entries=2).evict()
    assert names(tmp_path) == {"b", "c"}


def test_entries_in_use_stay_and_others_make_room(tmp_path: Path) -> None:
    fill(tmp_path, a=10, b=10, c=10)
    FolderCache(tmp_path, max_bytes=20).evict(keep={"a"})
    assert names(tmp_path) == {"a", "c"}


def test_an_entry_that_was_removed_is_not_used_and_not_made_again(tmp_path: Path) -> None:
    assert FolderCache(tmp_path).use("gone") is None
    assert names(tmp_path) == set()


def test_unfinished_downloads_are_left_alone(tmp_path: Path) -> None:
    fill(tmp_path, a=10)
    (tmp_path / ".part").write_bytes(bytes(100))
    FolderCache(tmp_path, max_bytes=10, max_entries=1).evict()
    assert names(tmp_path) == {"a", ".part"}


def test_a_folder_goes_with_all_that_it_holds(tmp_path: Path) -> None:
    for second, name in enumerate(("old", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        os.utime(tmp_path / name, (second, second))
    FolderCache(tmp_path, max_entries=1).evict()
    assert names(tmp_path) == {"new"}


def test_an_entry_that_another_process_removes_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, a=10, b=10)
    stat = Path.stat

    def vanish(path: Path, **options: bool) -> os.stat_result:
        if path.name == "a":
            path.unlink(missing_ok=True)
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", vanish)
    FolderCache(tmp_path, max_entries=1).evict()
    assert names(tmp_path) == {"b"}
