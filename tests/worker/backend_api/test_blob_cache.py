"""Downloads cached by content, bounded in size; run folders bounded in number."""

import os
from pathlib import Path

import pytest

from tests.support.supervised import Bench
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import BackendAway
from worker.backend_api.progress_callback import ProgressCallback
from worker.supervisor import run_folder


def test_the_least_recently_used_blobs_go_first(tmp_path: Path) -> None:
    fetched = []

    def fetch(sha256: str, path: Path, token: str | None, _progress: ProgressCallback) -> None:
        fetched.append(sha256)
        path.write_bytes(sha256.encode() * 50)

    cache = BlobCache(tmp_path / "cache", fetch, max_bytes=100)
    for minutes, name in enumerate(("a", "b", "a", "c")):
        cache.place(name, tmp_path / f"target-{minutes}")
        os.utime(tmp_path / "cache" / name, (minutes * 60, minutes * 60))
    assert fetched == ["a", "b", "c"]
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["a", "c"]
    assert (tmp_path / "target-1").read_bytes() == b"b" * 50, "a job keeps what it was given"


def test_a_blob_that_never_arrives_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.backend_api.blob_cache.time.sleep", lambda _seconds: None)

    def fetch(_sha256: str, path: Path, _token: str | None, _progress: ProgressCallback) -> None:
        path.write_bytes(b"half")
        raise BackendAway("gone")

    with pytest.raises(BackendAway):
        BlobCache(tmp_path / "cache", fetch).place("a", tmp_path / "target")
    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "target").exists()


def test_folders_of_old_jobs_are_removed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "RETAINED_JOBS", 3)
    runs = bench.home / "runs"
    for number in range(5):
        folder = run_folder.make_run_folder(runs, bench.claimed("end", job=f"ftjob-{number}"))
        assert (folder.path / "blobs").is_dir()
        folder.close()
        os.utime(folder.path.parent, (1000 + number, 1000 + number))
    assert sorted(path.name for path in runs.iterdir()) == ["ftjob-2", "ftjob-3", "ftjob-4"]
    again = run_folder.make_run_folder(runs, bench.claimed("end", job="ftjob-2", attempt=2))
    assert again.path.name == "2"
    assert (runs / "ftjob-2" / "1").is_dir(), "an earlier attempt's log stays"
    again.close()


def test_the_folder_of_a_job_that_runs_stays_whatever_comes_after_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "RETAINED_JOBS", 2)
    runs = bench.home / "runs"
    long = run_folder.make_run_folder(runs, bench.claimed("end", job="ftjob-long"))
    os.utime(long.path.parent, (1000, 1000))
    for number in range(3):
        run_folder.make_run_folder(runs, bench.claimed("end", job=f"ftjob-{number}")).close()
    assert (long.path / "blobs").is_dir()
    long.close()
    run_folder.make_run_folder(runs, bench.claimed("end", job="ftjob-last")).close()
    assert not long.path.exists()
