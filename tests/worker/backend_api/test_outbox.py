"""Records that wait: in order, on disk, and in memory when the disk takes no more."""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.records import LogLine, Record
from worker.backend_api import outbox as module
from worker.backend_api.outbox import Outbox


def line(sequence: int, message: str = "hello") -> LogLine:
    return LogLine(sequence=sequence, ts=1.0, level="info", message=message)


def sequences(records: list[Record]) -> list[int]:
    return [record.sequence for record in records]


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "outbox.jsonl")


def test_records_stay_until_they_are_acknowledged(outbox: Outbox) -> None:
    assert not outbox.wait(0)
    for sequence in (1, 2, 3):
        outbox.put(line(sequence, f"ü {sequence}"))
    assert outbox.wait(0)
    assert outbox.peek() == [line(sequence, f"ü {sequence}") for sequence in (1, 2, 3)]
    outbox.acknowledge(2)
    assert sequences(outbox.peek()) == [3]
    outbox.put(line(4))
    assert sequences(outbox.peek()) == [3, 4]
    outbox.acknowledge(9)
    assert outbox.is_empty


def test_the_file_does_not_grow_for_ever(outbox: Outbox, tmp_path: Path) -> None:
    for sequence in range(1, 50):
        outbox.put(line(sequence, "x" * 1000))
        outbox.acknowledge(sequence)
    assert (tmp_path / "outbox.jsonl").stat().st_size == 0


def test_a_batch_is_bounded_in_number_and_bytes(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BATCH_RECORDS", 3)
    monkeypatch.setattr(module, "MAX_BATCH_BYTES", 2000)
    for sequence in range(1, 6):
        outbox.put(line(sequence))
    assert sequences(outbox.peek()) == [1, 2, 3]
    outbox.acknowledge(5)
    for sequence in (6, 7):
        outbox.put(line(sequence, "x" * 3000))
    assert sequences(outbox.peek()) == [6], "a record larger than a batch still goes, alone"


@contextlib.contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """Writes beyond `size` fail part of the way, as they do when a disk fills up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_records_are_held_in_memory(outbox: Outbox, tmp_path: Path) -> None:
    outbox.put(line(1))
    with files_no_larger_than((tmp_path / "outbox.jsonl").stat().st_size + 10):
        outbox.put(line(2, "the end of the job"))
        assert sequences(outbox.peek()) == [1, 2], "what was written before is still read"
        outbox.acknowledge(1)
        assert outbox.peek() == [line(2, "the end of the job")]
    outbox.put(line(3))
    assert outbox.peek() == [line(2, "the end of the job"), line(3)]
