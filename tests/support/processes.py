"""Helpers for tests that start processes: wait for conditions, list pipes, kill."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from reinforge.system.process_table import identify


def eventually(condition: Callable[[], object], within: float = 60.0, what: str = "the condition") -> None:
    """Wait until `condition` holds; fails the test when it does not within `within` seconds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"{what} does not hold within {within} s"
        time.sleep(0.02)


def hear_interrupts() -> None:
    """For `preexec_fn`: tests in a script's background inherit SIGINT ignored, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def open_pipes() -> set[str]:
    """The pipes that this process has open."""
    targets = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            targets.add(str(descriptor.readlink()))
    return {target for target in targets if target.startswith("pipe:")}


def read_pids(folder: Path, names: list[str]) -> list[int]:
    """Pids that toy processes have written into `folder`, once all are there."""
    eventually(lambda: all((folder / name).is_file() and (folder / name).read_text() for name in names))
    return [int((folder / name).read_text()) for name in names]


def kill_all(pids: list[int]) -> None:
    """SIGKILL; processes that have already ended are skipped."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if identify(pid) is not None]


def all_gone(pids: list[int], within: float = 60.0) -> None:
    eventually(lambda: not alive(pids), within, what=f"the end of {pids}")
