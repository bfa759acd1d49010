"""Identifies, finds, signals and kills processes."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

_TICKS = os.sysconf("SC_CLK_TCK")
_POLL_SECONDS = 0.02
KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A pid and the process's start in clock ticks after boot, because pids are reused."""

    pid: int
    started: int


def identify(pid: int) -> ProcessIdentity | None:
    try:
        while True:
            # psutil adds the boot time to the start, and the boot time moves when the clock is set.
            boot = psutil.boot_time()
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            started = process.create_time() - boot
            if psutil.boot_time() == boot:
                return ProcessIdentity(pid, round(started * _TICKS))
    except psutil.Error:
        return None


def descendants(ancestor: int) -> list[ProcessIdentity]:
    """All live processes below `ancestor`, parents first."""
    try:
        children = psutil.Process(ancestor).children(recursive=True)
    except psutil.Error:
        return []
    return _identities(child.pid for child in children)


def in_session(session: int) -> list[ProcessIdentity]:
    return _identities(pid for pid in psutil.pids() if _session(pid) == session)


def with_variable(name: str, value: str) -> list[ProcessIdentity]:
    pids = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(name) == value:
                pids.append(process.pid)
    return _identities(pids)


def working_in(folder: Path) -> list[ProcessIdentity]:
    pids = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cwd() == str(folder):
                pids.append(process.pid)
    return _identities(pids)


def send(target: ProcessIdentity, number: int) -> bool:
    """Signal exactly this process; False if it has ended."""
    if identify(target.pid) != target:
        return False
    try:
        os.kill(target.pid, number)
    except ProcessLookupError:
        return False
    return True


def wait_gone(targets: Iterable[ProcessIdentity], seconds: float) -> list[ProcessIdentity]:
    """Returns those left after `seconds`."""
    deadline = time.monotonic() + seconds
    while remaining := [target for target in targets if identify(target.pid) == target]:
        if time.monotonic() >= deadline:
            return remaining
        time.sleep(_POLL_SECONDS)
    return []


def kill(targets: Iterable[ProcessIdentity]) -> list[int]:
    """Send SIGKILL to `targets` in turn, and wait for their end. Returns the pids that were alive."""
    targets = list(targets)
    killed = [target.pid for target in targets if send(target, signal.SIGKILL)]
    wait_gone(targets, KILL_SECONDS)
    return killed


def kill_tree(top: ProcessIdentity) -> list[int]:
    return kill([*reversed(descendants(top.pid)), top])


def _identities(pids: Iterable[int]) -> list[ProcessIdentity]:
    return [identity for pid in pids if (identity := identify(pid)) is not None]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None
