"""Lowers the priority of this process."""

import contextlib
import os
from pathlib import Path


def give_way(nice: int) -> None:
    """Lower the priority of this process and, if it leads a session, of its autogroup."""
    os.nice(nice)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(nice))
