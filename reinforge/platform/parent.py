"""Detects through /proc that the parent process `make` was interrupted or killed."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from reinforge.system.signals import Flag

_LOOK_SECONDS = 0.5
_INTERRUPT = 1 << (signal.SIGINT - 1)


def watch_make(interrupted: Flag, act: Callable[[], None]) -> None:
    """Run `act` when the `make` that started this process is interrupted or killed."""
    parent = os.getppid()
    if _name(parent) in ("make", "gmake"):
        # Under nohup and in scripts' background `make` leaves interrupts ignored: that it catches none says nothing.
        catches = _catches_interrupts(parent)
        arguments = (parent, catches, interrupted, act)
        threading.Thread(target=_watch, args=arguments, name="make", daemon=True).start()


def _watch(parent: int, catches: bool, interrupted: Flag, act: Callable[[], None]) -> None:
    while not interrupted.wait(_LOOK_SECONDS):
        if os.getppid() == parent and (not catches or _catches_interrupts(parent)):
            continue
        # A signal for the whole group is on its way to us, too: a second one would end all grace.
        if not interrupted.wait(_LOOK_SECONDS):
            act()
        return


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _catches_interrupts(pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) & _INTERRUPT)
