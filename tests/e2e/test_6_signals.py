"""A demo that is interrupted or killed while its job runs leaves no process."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, assert_nothing_left, demo_command, job_file, processes_of
from tests.support.processes import eventually, hear_interrupts


def short_job(folder: Path) -> Path:
    """The demo's, which reaches its first step sooner: it evaluates 8 completions instead of 256."""
    return job_file(folder, evaluation={"every_steps": 0, "rows": 8, "samples_per_row": 1})


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_leaves_nothing_running(tmp_path: Path, number: int) -> None:
    home = tmp_path / "home"
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            demo_command(home, file=short_job(tmp_path)),
            cwd=tmp_path,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        eventually(
            lambda: "step 2/60" in log.read_text() or process.poll() is not None,
            within=240,
            what="step 2",
        )
        assert process.poll() is None, log.read_text()
        assert any("worker.trainer.main" in command for command in processes_of(home))
        process.send_signal(number)
        assert process.wait(60) in (0, 130), log.read_text()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert_nothing_left(home)
    assert "Traceback" not in log.read_text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "whom"),
    [(signal.SIGINT, "its group"), (signal.SIGTERM, "make")],
    ids=["SIGINT to its group", "SIGTERM to make"],
)
def test_a_signal_to_make_demo_leaves_nothing_running(
    tmp_path: Path, number: signal.Signals, whom: str
) -> None:
    """Ctrl-C reaches the group; whoever ends the `make` that they have started reaches it alone."""
    home = tmp_path / "home"
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            make_demo(home),
            cwd=ROOT,
            stdout=out,
            stderr=out,
            start_new_session=True,
            preexec_fn=hear_interrupts,
        )
    try:
        eventually(
            lambda: "evaluating" in log.read_text() or process.poll() is not None,
            within=240,
            what="a trainer that samples",
        )
        assert process.poll() is None, log.read_text()
        assert any("worker.trainer.main" in command for command in processes_of(home))
        if whom == "make":
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)
        process.wait(60)
        assert_nothing_left(home)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "Traceback" not in log.read_text()


def make_demo(home: Path) -> list[str]:
    """`make demo` with what it has set up before taken as it is."""
    done = [part for name in ("setup", "frontend/dist/index.html") for part in ("--assume-old", name)]
    return ["make", *done, "demo", f"VENV={sys.executable}", f"REINFORGE_HOME={home}", "PORT=0"]


def test_a_killed_demo_leaves_nothing_running(tmp_path: Path) -> None:
    home = tmp_path / "home"
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            demo_command(home, file=short_job(tmp_path)),
            cwd=tmp_path,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    eventually(
        lambda: "step 1/60" in log.read_text() or process.poll() is not None, within=240, what="step 1"
    )
    process.kill()
    process.wait()
    assert_nothing_left(home)
