"""Before the trainer: downloads, and bounds on waiting for them."""

import hashlib
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.supervised import DATASET, Bench
from worker.backend_api.blob_cache import BlobCache
from worker.models.sources import ModelStore
from worker.supervisor.supervisor import JobOutcome
from worker.supervisor.watchdog import SilenceLimits


def test_a_job_cancelled_while_it_is_prepared_does_not_wait_for_the_download(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded = threading.Event()
    monkeypatch.setattr("worker.supervisor.supervisor.prepare", lambda *_: downloaded.wait(60))
    bench.server.state.commands.append({"id": "cmd_1", "kind": "cancel"})
    thread = bench.run_in_thread("end")
    try:
        thread.join(10)
        assert bench.outcome is JobOutcome.DELIVERED
    finally:
        downloaded.set()
        thread.join(10)
    assert (bench.end()["outcome"], bench.end()["reason"]) == ("cancelled", "cancel_requested")


def test_a_preparation_that_stands_still_ends_the_attempt_and_says_where(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = threading.Event()

    def pieces(*arguments: Any) -> None:
        for _ in range(6):  # longer than the bound, with signs of life
            time.sleep(0.5)
            arguments[-1]()
        hanging.wait(60)

    monkeypatch.setattr("worker.supervisor.supervisor.prepare", pieces)
    bench.supervisor = replace(bench.supervisor, silence_limits=SilenceLimits.parse("preparing=2"))
    begun = time.monotonic()
    thread = bench.run_in_thread("end")
    try:
        thread.join(20)
        assert bench.outcome is JobOutcome.DELIVERED
        assert time.monotonic() - begun > 4.0
    finally:
        hanging.set()
    end = bench.end()
    assert (end["outcome"], end["reason"]) == ("failed", "stalled"), "which costs an attempt"
    assert "in pieces" in end["traceback"]


def test_whoever_prepares_says_so_with_every_piece(bench: Bench, tmp_path: Path) -> None:
    """Model files of two pieces that are hashed, a dataset that is downloaded."""
    beats: list[str] = []
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(bytes((1 << 20) + 1))
    ModelStore(tmp_path / "store").content_hash(folder, lambda: beats.append("hash"))
    assert beats == ["hash"] * 3
    sha256 = hashlib.sha256(DATASET).hexdigest()
    cache = BlobCache(tmp_path / "cache", bench.supervisor.api.get_blob)
    bench.server.state.blobs[sha256] = DATASET
    cache.place(sha256, tmp_path / "dataset", "job-token", lambda: beats.append("download"))
    assert beats.count("download") >= 1
