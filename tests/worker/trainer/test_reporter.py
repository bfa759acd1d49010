"""The run folder and the twins that write it."""

import errno
import json
import os
import resource
from pathlib import Path

import pytest

from reinforge.records import RECORD, Blob, Command, Ended, LogLine
from worker.trainer.reporter import LocalReporter, PipeReporter


def test_records_are_numbered_and_written_before_they_are_reported(tmp_path: Path) -> None:
    lines_when_reported = []
    reporter = LocalReporter(
        tmp_path,
        show=lambda record: lines_when_reported.append((tmp_path / "records.jsonl").read_text().count("\n")),
        first_sequence=5,
    )
    for text in ("one", "zwei – 二"):
        reporter.report(LogLine, level="info", message=text)
    records = [RECORD.validate_json(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert [(r.sequence, r.message) for r in records if isinstance(r, LogLine)] == [
        (5, "one"),
        (6, "zwei – 二"),
    ]
    assert lines_when_reported == [1, 2]


def test_a_blob_is_named_by_its_content_and_written_once(tmp_path: Path) -> None:
    reporter = LocalReporter(tmp_path)
    blob = reporter.blob(b"abc")
    assert blob == Blob(sha256="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", bytes=3)
    assert reporter.blob(b"abc") == blob
    assert [path.name for path in (tmp_path / "blobs").iterdir()] == [blob.sha256]
    assert (tmp_path / "blobs" / blob.sha256).read_bytes() == b"abc"


def test_rewinding_drops_what_an_attempt_did_not_keep(tmp_path: Path) -> None:
    reporter = LocalReporter(tmp_path)
    for step in range(4):
        reporter.metrics(step, "train", {"x": float(step)})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "ki')  # cut off by a kill
    reporter.rewind(2)
    reporter.metrics(3, "train", {"x": None})
    steps = [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert steps == [0, 1, 2, 3]
    reporter.rewind(0)
    assert (tmp_path / "metrics.jsonl").read_text() == ""


def test_commands_are_taken_once_and_a_cancel_interrupts(tmp_path: Path) -> None:
    reporter = LocalReporter(tmp_path)
    interrupted: list[bool] = []
    reporter.on_cancel(lambda: interrupted.append(True))
    reporter.receive(Command(id="a", kind="checkpoint"))
    assert (interrupted, reporter.cancelling) == ([], False)
    reporter.receive(Command(id="b", kind="cancel"))
    assert (interrupted, reporter.cancelling) == ([True], True)
    assert [command.id for command in reporter.commands()] == ["a", "b"]
    assert reporter.commands() == []


def test_a_pause_interrupts_only_what_may_be(tmp_path: Path) -> None:
    reporter = LocalReporter(tmp_path)
    interrupted: list[str] = []
    reporter.on_cancel(lambda: interrupted.append("cancel"))
    reporter.receive(Command(id="a", kind="pause"))
    assert interrupted == []
    reporter.on_pause(lambda: interrupted.append("early"))
    assert (interrupted, reporter.cancelling) == (["early"], False)
    reporter.commands()
    reporter.on_pause(lambda: interrupted.append("late"))
    reporter.receive(Command(id="b", kind="pause"))
    reporter.on_pause(None)
    reporter.receive(Command(id="c", kind="pause"))
    assert interrupted == ["early", "late"]


def test_a_cancel_that_came_early_interrupts_late_comers(tmp_path: Path) -> None:
    reporter = LocalReporter(tmp_path)
    reporter.receive(Command(id="b", kind="cancel"))
    interrupted: list[bool] = []
    reporter.on_cancel(lambda: interrupted.append(True))
    assert interrupted == [True]


def test_the_pipe_carries_the_same_lines_as_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records_out, records_in = os.pipe()
    commands_out, commands_in = os.pipe()
    reporter = PipeReporter(tmp_path, records=records_in, commands=commands_out)
    reporter.report(LogLine, level="info", message="x" * 3000)
    os.close(records_in)
    with os.fdopen(records_out, "rb") as pipe:
        assert pipe.read() == (tmp_path / "records.jsonl").read_bytes()
    # The listening thread ends the process at EOF, so the other end stays open until the process is gone.
    assert commands_in > 0


def test_a_full_disk_leaves_no_gap_and_no_torn_line(tmp_path: Path) -> None:
    """The last word follows what was really sent: the backend refuses records that are not in sequence."""
    read_end, write_end = os.pipe()
    commands, keeps_open = os.pipe()
    reporter = PipeReporter(tmp_path, records=write_end, commands=commands)
    reporter.report(LogLine, level="info", message="before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "records.jsonl").stat().st_size + 10, hard))
    try:
        with pytest.raises(OSError) as caught:
            reporter.report(LogLine, level="info", message="does not fit")
        reporter.report(Ended, outcome="failed", reason="disk_full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        sent = [json.loads(line) for line in pipe]
    assert [(record["sequence"], record["kind"]) for record in sent] == [(1, "log"), (2, "ended")]
    assert caught.value.errno == errno.ENOSPC
    content = (tmp_path / "records.jsonl").read_bytes()
    assert [json.loads(line)["sequence"] for line in content.splitlines()] == [1]
    assert content.endswith(b"\n")
    assert keeps_open > 0
