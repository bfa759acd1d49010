"""`make demo EXIT=1`: one command from prompts and a reward to a better adapter."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reinforge.offline.demo import SUMMARY_KEYS
from tests.e2e.conftest import ROOT, Demo, assert_nothing_left, demo_command, processes_of, run_demo
from tests.support.processes import eventually, hear_interrupts
from worker.starter import CHECKPOINT
from worker.starter.figures import Figures


def test_the_demo_succeeds_and_says_how(demo: Demo) -> None:
    assert demo.status == 0, demo.output
    assert tuple(demo.summary) == SUMMARY_KEYS
    assert demo.summary["status"] == "succeeded"
    assert demo.summary["steps"] == 60
    assert demo.output.count("before  [") == 2 and demo.output.count("after   [") == 2
    assert "Held-out reward" in demo.output and demo.summary["adapter_path"] in demo.output
    assert f"(step {demo.summary['adapter_step']}, the best checkpoint: held-out reward" in demo.output


def test_the_model_learned_to_work_it_out(demo: Demo) -> None:
    """64 held-out rows × 4 samples: the standard error is below 0.03, the bounds are four of them away."""
    summary, expected = demo.summary, Figures.read(CHECKPOINT).demo
    assert expected is not None
    assert abs(summary["reward_before"] - expected.reward_before) < 0.12
    assert summary["reward_after"] > expected.reward_after - 0.12
    assert summary["length_after"] > summary["length_before"] + 10


def test_no_process_is_left(demo: Demo) -> None:
    assert_nothing_left(demo.home)


def test_a_second_run_shows_the_finished_job(demo: Demo, tmp_path: Path) -> None:
    again = run_demo(demo.home, tmp_path)
    assert again.status == 0, again.output
    same = {key for key in SUMMARY_KEYS if key != "url"}
    assert {k: again.summary[k] for k in same} == {k: demo.summary[k] for k in same}
    assert "is there already" in again.output
    assert_nothing_left(demo.home)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda s: signal.Signals(s).name)
def test_a_signal_leaves_nothing_running(tmp_path: Path, number: int) -> None:
    home = tmp_path / "home"
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            demo_command(home), cwd=tmp_path, stdout=out, stderr=out, start_new_session=True
        )
    try:
        eventually(
            lambda: "step 2/60" in log.read_text() or process.poll() is not None,
            within=240,
            what=log.read_text(),
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
            lambda: "step 1/60" in log.read_text() or process.poll() is not None,
            within=240,
            what=log.read_text(),
        )
        assert process.poll() is None, log.read_text()
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
            demo_command(home), cwd=tmp_path, stdout=out, stderr=out, start_new_session=True
        )
    eventually(
        lambda: "step 1/60" in log.read_text() or process.poll() is not None, within=240, what=log.read_text()
    )
    process.kill()
    process.wait()
    assert_nothing_left(home)


def test_the_demo_fails_when_the_port_is_taken(demo: Demo, tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [port if part == "0" else part for part in demo_command(demo.home, "--exit")]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 5
    assert f"127.0.0.1:{port}" in done.stderr and "--port" in done.stderr
    assert not (tmp_path / "demo-summary.json").exists()


def test_the_summary_is_json_of_plain_values(demo: Demo) -> None:
    text = (demo.cwd / "demo-summary.json").read_text()
    assert all(isinstance(value, str | int | float) for value in json.loads(text).values())
