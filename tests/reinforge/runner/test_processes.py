"""Processes of programs: outcomes of every end, in a process of their own and in a shared one."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.runner.processes import OwnProcess, SharedProcess
from tests.support.processes import eventually

TASK = {"base_url": "http://127.0.0.1:9/v1", "api_key": "rf-ro-test"}
PROGRAMS = """
import asyncio, os, threading, time
from reinforge.runner import reads_task

def long_error(task):
    raise ValueError('\\U0001f600' * 50_000)

def endless(task):
    with open(task["item"] + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(task["item"] + ".new", task["item"])
    time.sleep(600)

@reads_task
async def coroutine(task):
    if task["item"] == "exit":
        os._exit(3)
    if task["item"] == "wait":
        await asyncio.sleep(60)
    return float(task["item"])

@reads_task
def thread(task):
    barrier.wait(20)  # both run at once
    return {"1": 1.0, "2": "no number"}[task["item"]]

barrier = threading.Barrier(2)
"""


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runner_programs.py").write_text(PROGRAMS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.fixture
def coroutines() -> Iterator[SharedProcess]:
    process = SharedProcess("runner_programs:coroutine")
    yield process
    process.close()


def test_a_long_error_in_any_script_is_an_outcome() -> None:
    process = OwnProcess("runner_programs:long_error")
    try:
        process.start("roll_1", TASK)
        outcome = process.outcome(30.0)
    finally:
        process.close()
    assert outcome is not None, "the program's process never ended"
    assert outcome["error"].endswith("\U0001f600\n")


def test_coroutines_share_a_process_that_starts_again(coroutines: SharedProcess) -> None:
    first, second = coroutines.part(), coroutines.part()
    first.start("roll_1", TASK | {"item": "wait"})
    second.start("roll_2", TASK | {"item": "0.5"})
    assert second.outcome(30.0) == {"reward": 0.5}
    second.start("roll_3", TASK | {"item": "exit"})
    for part in (first, second):
        outcome = part.outcome(30.0)
        assert outcome is not None and "process" in outcome["error"]
    second.start("roll_4", TASK | {"item": "2"})
    assert second.outcome(30.0) == {"reward": 2.0}


def test_a_cancelled_coroutine_is_forgotten(coroutines: SharedProcess) -> None:
    part = coroutines.part()
    part.start("roll_1", TASK | {"item": "wait"})
    part.cancel()
    part.start("roll_2", TASK | {"item": "1"})
    assert part.outcome(30.0) == {"reward": 1.0}


def test_functions_that_share_a_process_run_at_once() -> None:
    process = SharedProcess("runner_programs:thread")
    parts = process.part(), process.part()
    try:
        for number, part in enumerate(parts, 1):
            part.start(f"roll_{number}", TASK | {"item": str(number)})
        outcomes = [part.outcome(30.0) for part in parts]
    finally:
        process.close()
    assert outcomes[0] == {"reward": 1.0}
    assert outcomes[1] is not None and "return a finite number" in outcomes[1]["error"]


def test_a_program_ends_with_its_runner(tmp_path: Path) -> None:
    """Whatever ended the runner: the end of its pipe says so."""
    slot = subprocess.Popen(
        [sys.executable, "-m", "reinforge.runner.slot", "runner_programs:endless"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    started = tmp_path / "started"
    try:
        assert slot.stdin is not None
        slot.stdin.write((json.dumps(TASK | {"item": str(started)}) + "\n").encode())
        slot.stdin.flush()
        eventually(started.exists, 30)
        program = int(started.read_text())
        slot.stdin.close()
        assert slot.wait(30) == -signal.SIGKILL
        eventually(lambda: not running(program), 30)
    finally:
        slot.kill()


def running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_a_module_that_cannot_be_imported_without_address_says_so(tmp_path: Path) -> None:
    (tmp_path / "client_at_import.py").write_text("import os\nos.environ['OPENAI_API_KEY']\n")
    process = SharedProcess("client_at_import:play")
    try:
        part = process.part()
        part.start("roll_1", TASK)
        outcome = part.outcome(30.0)
    finally:
        process.close()
    assert outcome is not None
    assert "cannot be imported: KeyError('OPENAI_API_KEY')" in outcome["error"]
    assert "create its client there" in outcome["error"]
