"""Child processes end with their group, keep their number until they are reaped, and end with their starter."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from reinforge.system.child_process import ChildProcess
from reinforge.system.process_table import ProcessIdentity, descendants, identify, in_session, kill_tree, send
from tests.support.processes import all_gone, eventually, open_pipes

ECHO = "import os, sys\nfor line in sys.stdin: os.write(3, line.encode())"
FAMILY = (
    "import os, subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "os.write(3, f'{child.pid}\\n'.encode())\n"
    "sys.stdin.read()\n"
)
DEAF = "import os, time\nos.write(3, b'ready\\n')\ntime.sleep(600)"


@pytest.fixture
def children() -> Iterator[list[ChildProcess]]:
    children: list[ChildProcess] = []
    yield children
    for child in children:
        child.kill()
        child.close_input()
        if child.results is not None:
            child.results.close()


def start(children: list[ChildProcess], program: str, **options: Any) -> ChildProcess:
    child = ChildProcess([sys.executable, "-c", program], env=dict(os.environ), with_results=True, **options)
    children.append(child)
    return child


def line(child: ChildProcess) -> bytes:
    assert child.results is not None
    return child.results.readline()


def test_lines_go_in_and_results_come_out(children: list[ChildProcess]) -> None:
    child = start(children, ECHO)
    assert child.send(b"one\n") and line(child) == b"one\n"
    assert child.end(20) == 0
    assert not child.send(b"two\n")


def test_a_child_that_reads_no_end_of_file_is_killed(children: list[ChildProcess]) -> None:
    child = start(children, DEAF)
    line(child)
    assert child.end(0.1) == child.poll() == child.kill() == -signal.SIGKILL


def test_what_a_child_has_started_ends_with_it(children: list[ChildProcess]) -> None:
    child = start(children, FAMILY)
    grandchild = int(line(child))
    assert [process.pid for process in descendants(child.pid)] == [grandchild]
    assert {process.pid for process in in_session(child.pid)} == {child.pid, grandchild}
    child.end(20)
    all_gone([child.pid, grandchild])


def test_an_ended_child_keeps_its_number_until_kill(children: list[ChildProcess]) -> None:
    """`os.killpg` could otherwise hit a stranger."""
    child = start(children, "raise SystemExit(3)")
    assert child.wait(20) == child.poll() == 3
    os.kill(child.pid, 0)
    assert identify(child.pid) is None
    assert child.kill() == 3
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    child.signal(signal.SIGTERM)


def test_a_child_without_a_session_ends_alone(children: list[ChildProcess]) -> None:
    child = start(children, DEAF, own_session=False)
    line(child)
    assert os.getsid(child.pid) == os.getsid(0)
    assert child.kill() == -signal.SIGKILL


def test_a_command_that_cannot_start_leaves_no_pipe_open() -> None:
    before = open_pipes()
    with pytest.raises(FileNotFoundError):
        ChildProcess(["/no/such/program"], env={})
    with pytest.raises(OSError):
        ChildProcess([], env={}, with_results=True, cwd="/no/such/folder")  # type: ignore[arg-type]
    assert open_pipes() == before


def test_the_oom_score_is_raised_and_never_lowered(children: list[ChildProcess]) -> None:
    program = "import os\nos.write(3, open('/proc/self/oom_score_adj', 'rb').read())"
    child = start(children, program, oom_score=700)
    assert int(line(child)) == 700
    nested = (
        "import os, sys\nfrom reinforge.system.launch import raise_oom_score\n"
        "raise_oom_score(700); raise_oom_score(300)\n" + program
    )
    assert int(line(start(children, nested))) == 700


@pytest.mark.parametrize("end_signal", [signal.SIGKILL, signal.SIGTERM])
def test_kill_9_of_the_starter_ends_the_child(end_signal: int) -> None:
    program = (
        "import os, sys, time\nfrom reinforge.system.child_process import ChildProcess\n"
        f"child = ChildProcess([sys.executable, '-c', {DEAF!r}], env=dict(os.environ), with_results=True,\n"
        f"    end_signal={int(end_signal)})\n"
        "child.results.readline(); print(child.pid, flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.kill()
    all_gone([pid])


def test_a_tree_is_killed_and_a_reused_number_is_not() -> None:
    """The tree also holds a grandchild with a session of its own."""
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "print(child.pid, flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as top:
        assert top.stdout is not None
        grandchild = int(top.stdout.readline())
        identity = identify(top.pid)
        assert identity is not None
        assert not send(ProcessIdentity(top.pid, identity.started - 1), signal.SIGKILL)
        eventually(lambda: len(descendants(top.pid)) == 1)
        assert kill_tree(identity) == [grandchild, top.pid]
    assert not send(identity, signal.SIGKILL)


def test_start_times_are_the_kernels_ticks() -> None:
    """Pid files of earlier versions hold them."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    assert identify(os.getpid()) == ProcessIdentity(os.getpid(), ticks)


def test_a_clock_that_is_set_meanwhile_changes_no_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identify(os.getpid())
    boot, reads = psutil.boot_time(), iter(range(100))
    # The clock is set by a second between the first two reads.
    monkeypatch.setattr("psutil._psplatform.boot_time", lambda: boot + (next(reads) > 0))
    assert before is not None and identify(os.getpid()) == before
