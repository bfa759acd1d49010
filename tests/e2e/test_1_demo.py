"""`make demo EXIT=1`: one command from prompts and a reward to a better adapter."""

import json
import socket
import subprocess
from pathlib import Path

from reinforge.offline.demo import SUMMARY_KEYS
from tests.e2e.conftest import Demo, assert_nothing_left, demo_command, run_demo
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
    assert "exists already" in again.output
    assert_nothing_left(demo.home)


def test_the_demo_fails_when_the_port_is_taken(demo: Demo, tmp_path: Path) -> None:
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
