"""Cost of a call in processes and system calls. Times are for benchmarks/."""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.sandbox import RewardRow, SandboxClient
from worker.sandbox.client import ROWS_PER_CALL

from .harness import RunningDaemon, cannot, eventually, jails_of, running_daemon

WHO = "import os\ndef grade(sample, item): return os.getpid()\n"
BUSY = """
import os
def grade(sample, item):
    sum(range(40_000))
    return os.getpid()
"""
ROWS = [RewardRow("p", "x" * 1500, {"answer": 1})] * 64
CALLS = 4
SYSTEM_CALLS = {"a call": 100, "a row": 8}
"""Allowed: of zygote and child together, for a call, and for each of its rows on top."""


@pytest.fixture(scope="module")
def daemon() -> Iterator[RunningDaemon]:
    with running_daemon() as running:
        yield running


@pytest.fixture
def warm(daemon: RunningDaemon) -> Iterator[SandboxClient]:
    """A client to which the reward is known as fast."""
    with daemon.client() as client:
        eventually(lambda: len({row.value for row in client.score(WHO, ROWS).rows}) == 1)
        yield client


@pytest.mark.skipif(bool(cannot("N")), reason=f"jail N, where processes can be counted: {cannot('N')}")
def test_a_call_of_a_fast_reward_is_one_process(warm: SandboxClient) -> None:
    pids = []
    for _ in range(CALLS):
        (pid,) = {row.value for row in warm.score(WHO, ROWS).rows}
        pids.append(int(pid or 0))
    assert pids == list(range(pids[0], pids[0] + CALLS)), "in its namespace each process has the next number"


def test_rows_that_need_processor_time_run_side_by_side(daemon: RunningDaemon) -> None:
    with daemon.client() as client:
        for _ in range(3):
            outcome = client.score(BUSY, ROWS[:32])
    assert sum(row.cpu_ms for row in outcome.rows) > 12
    assert len({row.value for row in outcome.rows}) == 2, "16 rows are the fewest of a call"


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed, which counts the calls")
def test_a_call_makes_few_system_calls(daemon: RunningDaemon, warm: SandboxClient, tmp_path: Path) -> None:
    (jail,) = jails_of(daemon)
    counted = tmp_path / "counted"
    command = ["strace", "-f", "-c", "-U", "calls,name", "-o", str(counted), "-p", str(jail)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        line = tracer.stderr.readline()
        if "attached" not in line:
            tracer.kill()
            pytest.skip(f"this machine does not let strace attach: {line.strip()}")
        for _ in range(CALLS):
            assert {row.status for row in warm.score(WHO, ROWS).rows} == {"ok"}
        tracer.send_signal(signal.SIGINT)
        tracer.wait(20)
    calls = {name: int(count) for count, name in re.findall(r"^\s*(\d+)\s+(\w+)$", counted.read_text(), re.M)}
    total = calls.pop("total")
    forks = sum(calls.get(name, 0) for name in ("clone", "fork", "vfork", "clone3"))
    rows = CALLS * len(ROWS)
    assert forks <= rows / ROWS_PER_CALL, "a traced reward may look slow, and then has 16 rows per process"
    assert total <= forks * SYSTEM_CALLS["a call"] + rows * SYSTEM_CALLS["a row"], (forks, calls)
