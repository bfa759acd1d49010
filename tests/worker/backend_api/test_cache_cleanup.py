"""Objects deleted on the server leave a worker's caches, except those of a running job."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from tests.support.supervised import DATASET, Bench, wait_for
from tests.support.worker_api_stub import TOKEN
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.cache_cleanup import Cache, Tidying
from worker.backend_api.client import WorkerApi
from worker.supervisor import run_folder

SHA256 = hashlib.sha256(DATASET).hexdigest()
OTHER = b'{"prompt": "2+2=", "answer": "4"}\n'
OTHER_SHA256 = hashlib.sha256(OTHER).hexdigest()


@pytest.fixture
def blobs(bench: Bench) -> BlobCache:
    bench.server.state.blobs |= {SHA256: DATASET, OTHER_SHA256: OTHER}
    cache = bench.supervisor.blobs
    for name in (SHA256, OTHER_SHA256):
        cache.place(name, bench.home / "placed")
    return cache


def tidying(bench: Bench, *others: Cache) -> Tidying:
    api = WorkerApi(bench.server.url, TOKEN)
    return Tidying(api, bench.supervisor.blobs, runs=bench.home / "runs", others=others)


def attempt(bench: Bench, job: str) -> run_folder.RunFolder:
    folder = run_folder.make_run_folder(bench.home / "runs", bench.claimed("end", job=job))
    for name in ("dataset.jsonl", "held_out.parquet", "resume", "trainer.log"):
        (folder.path / name).write_bytes(DATASET)
    return folder


def test_what_nothing_needs_leaves_the_cache_and_the_rest_stays(bench: Bench, blobs: BlobCache) -> None:
    tidying(bench).tidy()
    assert sorted(blobs.names()) == sorted([SHA256, OTHER_SHA256])
    bench.server.state.unused = {SHA256}
    tidying(bench).tidy()
    assert blobs.names() == [OTHER_SHA256]


def test_folders_of_deleted_jobs_go(bench: Bench) -> None:
    for job in ("ftjob-kept", "ftjob-gone"):
        attempt(bench, job).close()
    bench.server.state.unused = {"ftjob-gone"}
    tidying(bench).tidy()
    assert [path.name for path in (bench.home / "runs").iterdir()] == ["ftjob-kept"]


def test_data_goes_once_the_attempt_is_over_and_its_log_stays(bench: Bench) -> None:
    """Nobody reads it again: the next attempt places its own."""
    folder = attempt(bench, "ftjob-1")
    tidying(bench).tidy()
    assert (folder.path / "dataset.jsonl").exists(), "an attempt is under way"
    folder.close()
    tidying(bench).tidy()
    assert sorted(path.name for path in folder.path.iterdir()) == ["blobs", "rewards", "trainer.log"]


def test_a_job_under_way_keeps_everything(bench: Bench, blobs: BlobCache) -> None:
    folder = attempt(bench, "ftjob-1")
    blobs.place(SHA256, folder.path / "dataset.jsonl")
    bench.server.state.unused = {"ftjob-1", SHA256}
    tidying(bench).tidy()
    assert (folder.path / "dataset.jsonl").read_bytes() == DATASET
    folder.close()
    tidying(bench).tidy()
    assert not folder.path.parent.exists()


def test_a_worker_that_was_away_tidies_when_it_is_back(bench: Bench, blobs: BlobCache) -> None:
    state = bench.server.state
    state.unused, state.away = {SHA256}, True
    thread = tidying(bench)
    thread.start()
    thread.stop()
    thread.join(20)
    assert len(blobs.names()) == 2, "nothing is removed that the server has not said"
    state.away = False
    again = tidying(bench)
    again.start()
    wait_for(lambda: blobs.names() == [OTHER_SHA256])
    again.stop()
    again.join(20)
    assert not again.is_alive()


def test_a_large_cache_is_reported_in_parts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.backend_api.cache_cleanup.CACHED_AT_ONCE", 2)
    names = [f"{number:064x}" for number in range(5)]
    gone: list[str] = []
    bench.server.state.unused = {names[0], names[4]}
    tidying(bench, Cache(lambda: names, gone.extend)).tidy()
    assert gone == [names[0], names[4]]
    assert [len(request["objects"]) for request in bench.server.state.tidied] == [2, 2, 1]


def test_a_blob_that_is_removed_while_it_is_placed_is_fetched_again(
    bench: Bench, blobs: BlobCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    link, removed = os.utime, []

    def remove_first(path: Path, *arguments: object) -> None:
        if not removed:
            removed.append(path)
            blobs.forget([SHA256])
        link(path)

    monkeypatch.setattr("worker.backend_api.blob_cache.os.utime", remove_first)
    blobs.place(SHA256, tmp_path / "target")
    assert removed
    assert (tmp_path / "target").read_bytes() == DATASET


def test_half_a_download_of_a_killed_process_goes(bench: Bench, blobs: BlobCache) -> None:
    old, fresh = (bench.home / "cache" / name for name in (f".{SHA256}.1.1.part", f".{SHA256}.2.2.part"))
    for path in (old, fresh):
        path.write_bytes(b"half")
    day_ago = time.time() - 86_400
    os.utime(old, (day_ago, day_ago))
    tidying(bench).tidy()
    assert (old.exists(), fresh.exists()) == (False, True)
