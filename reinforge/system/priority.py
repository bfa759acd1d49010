"""Lowers the priority of this process."""

import contextlib
import os
from pathlib import Path


def give_way(nice: int) -> None:
    """Lower the priority of this process, and of its session's group if it leads one.

    Linux may schedule sessions as groups (`sched_autogroup`): a process alone in its group gets the whole
    share, whatever its niceness.
    """
    os.nice(nice)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(nice))
